"""Unmanaged pods in files count each for itself, although files seldom have uids."""

import json
from pathlib import Path

from click.testing import CliRunner

from cli.commands.ahead import simulate

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "10", pods: "100"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 1}}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: managed, namespace: ns, labels: {quotree.dev/group: vision}}
spec:
  suspend: true
  template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: ns}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
"""


def test_pods_without_a_uid_use_their_node_beside_managed_jobs_without_one(tmp_path: Path) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(NODE + POD % "a" + POD % "b")
    found = json.loads(CliRunner().invoke(simulate.command, ["-f", str(file), "-o", "json"]).stdout)
    assert found["groups"]["root"]["default"]["cpu"]["runtime"] == 6000
