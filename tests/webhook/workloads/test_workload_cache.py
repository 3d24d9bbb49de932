"""The workload cache counts Jobs and plain pods by their group, in any order of watch events."""

import json
from typing import Any, cast

from shared.api.core.namespace import read_namespace
from shared.kube.client import Client
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Changed
from shared.quota.model.rules import GroupWorkloads
from tests.webhook.workloads.review_builders import job, plain_pod
from webhook.workloads.owner_cache import WorkloadRecord
from webhook.workloads.workload_cache import WatchedWorkloads, job_record, pod_record


def view() -> WatchedWorkloads:
    return WatchedWorkloads(cast("Client", None), Watches(), default_group=False)


def record(namespace: str = "a", label: str = "", *, runs: bool = False, over: bool = False) -> WorkloadRecord:
    return WorkloadRecord("u", namespace, label, runs, over)


def appeared(*records: WorkloadRecord) -> list[Any]:
    return [Changed(None, each) for each in records]


def namespaced(it: WatchedWorkloads, before: dict[str, str] | None, after: dict[str, str] | None) -> None:
    """Namespace a got, changed or lost its labels."""
    made = [
        None if labels is None else read_namespace({"metadata": {"name": "a", "labels": labels}})
        for labels in (before, after)
    ]
    it._namespaces.observe_namespaces([(made[0], made[1])])


def test_workloads_are_counted_by_label_and_by_namespace() -> None:
    it = view()
    namespaced(it, None, {"quotree.dev/group": "nlp"})
    it._observe_workloads(
        appeared(
            record(),
            record(runs=True),
            record(label="vision"),
            record("elsewhere", "nlp", runs=True),
            record("elsewhere"),
            record(over=True),
        )
    )
    assert it.of_group("nlp") == GroupWorkloads(pending=1, running=2)
    assert it.of_group("vision") == GroupWorkloads(pending=1)
    assert it.of_group("absent") == GroupWorkloads()


def test_workloads_move_with_the_label_of_their_namespace() -> None:
    it = view()
    it._observe_workloads(appeared(record()))
    namespaced(it, None, {"quotree.dev/group": "nlp"})
    assert it.of_group("nlp") == GroupWorkloads(pending=1)
    namespaced(it, {"quotree.dev/group": "nlp"}, {"quotree.dev/group": "vision"})
    assert (it.of_group("nlp"), it.of_group("vision")) == (GroupWorkloads(), GroupWorkloads(pending=1))
    namespaced(it, {"quotree.dev/group": "vision"}, None)
    assert it.of_group("vision") == GroupWorkloads()


def test_changed_workload_is_counted_again() -> None:
    it = view()
    held, running, over = record(label="nlp"), record(label="nlp", runs=True), record(label="nlp", over=True)
    it._observe_workloads(appeared(held, held))
    it._observe_workloads([Changed(held, running)])
    assert it.of_group("nlp") == GroupWorkloads(pending=1, running=1)
    it._observe_workloads([Changed(running, over), Changed(held, None)])
    assert it.of_group("nlp") == GroupWorkloads()
    assert not it._counts


def test_workload_cache_keeps_only_needed_fields() -> None:
    body = job("nlp", suspend=True, status={"active": 1})
    body["metadata"]["uid"] = "j"
    assert job_record(_bytes(body)) == WorkloadRecord("j", "team-a", "nlp", runs=True, over=False)
    gated = plain_pod("nlp", schedulingGates=[{"name": "quotree.dev/admission"}])
    assert pod_record(_bytes(gated)) == WorkloadRecord("", "team-a", "nlp", runs=False, over=False)
    owned = plain_pod("nlp", owners=[{"apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": True}])
    assert pod_record(_bytes(owned)) is None


def _bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()
