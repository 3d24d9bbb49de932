"""A manifest that was never applied is new: it has not waited since 1970."""

from datetime import timedelta
from pathlib import Path

from cli.read.manifests import read_manifests
from cli.read.questions import read_question
from shared.quota.model.settings import QuotaSettings
from tests.builders import NOW

JOBS = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 1}, max: {cpu: 4}}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: new, namespace: ns, labels: {quotree.dev/group: vision}}
spec: {suspend: true, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: old, namespace: ns, labels: {quotree.dev/group: vision}, creationTimestamp: "2025-12-31T23:00:00Z"}
spec: {suspend: true, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}
"""


def test_manifest_without_a_time_was_created_now(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    question = read_question(read_manifests([str(tmp_path)]), QuotaSettings())
    workloads = question.world_at(NOW).workloads_of("vision").by_id.values()
    ages = {each.key: (NOW - each.created, NOW - each.queued) for each in workloads}
    hour = timedelta(hours=1)
    assert ages == {"ns/new": (timedelta(), timedelta()), "ns/old": (hour, hour)}
