"""Plain pods are workloads by themselves, or together with their pod group."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shared.api.annotations import AdmissionAnnotation, EvictionAnnotation, write_annotation
from shared.api.core.pod import Pod, read_pod
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import UNMANAGED, ObjectState, Reading
from shared.quota.model.read.pods import pod_group_of, workload_of_pod, workload_of_pod_group
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Admission, Eviction, EvictionReason
from tests.builders import in_main

STARTED = datetime(2026, 3, 1, 13, tzinfo=UTC)
EVICTED = datetime(2026, 3, 1, 14, tzinfo=UTC)
SETTINGS = QuotaSettings()
ADMITTED = {"quotree.dev/admission": write_annotation(AdmissionAnnotation(flavors={"cpu": "t4"}, time=STARTED))}
GATED: Any = {"schedulingGates": [{"name": "quotree.dev/admission"}]}
OWNED = [{"kind": "Job", "apiVersion": "batch/v1", "uid": "j1", "controller": True}]


def pod(name: str = "p", *, labels: dict[str, str] | None = None, status: Any = None, **rest: Any) -> Pod:
    metadata = {key: rest.pop(key) for key in ("annotations", "ownerReferences", "deletionTimestamp") if key in rest}
    return read_pod(
        {
            "metadata": {
                "name": name,
                "namespace": "team-a",
                "uid": f"uid-{name}",
                "labels": {"quotree.dev/group": "vision", **(labels or {})},
                **metadata,
            },
            "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}], **rest},
            "status": status or {},
        }
    )


STATES = {
    "gated": (pod(**GATED), ObjectState.PENDING),
    "gated by another only": (pod(schedulingGates=[{"name": "other"}], annotations=ADMITTED), ObjectState.RUNNING),
    "admitted": (pod(annotations=ADMITTED), ObjectState.RUNNING),
    "found running": (pod(), ObjectState.ADOPTED),
    "being deleted": (pod(annotations=ADMITTED, deletionTimestamp="2026-03-01T14:00:00Z"), ObjectState.EVICTING),
    "found running, being deleted": (pod(deletionTimestamp="2026-03-01T14:00:00Z"), ObjectState.ADOPTED),
    "deleted before it started": (pod(deletionTimestamp="2026-03-01T14:00:00Z", **GATED), ObjectState.FINISHED),
    "succeeded": (pod(annotations=ADMITTED, status={"phase": "Succeeded"}), ObjectState.FINISHED),
    "failed": (pod(annotations=ADMITTED, status={"phase": "Failed"}), ObjectState.FINISHED),
    "its Job answers for it": (pod(ownerReferences=OWNED), ObjectState.UNMANAGED),
    "of a Job, but held by itself": (pod(ownerReferences=OWNED, **GATED), ObjectState.PENDING),
}


@pytest.mark.parametrize(("seen", "state"), STATES.values(), ids=STATES)
def test_state_of_a_pod_is_derived_from_the_pod(seen: Pod, state: ObjectState) -> None:
    assert workload_of_pod(seen, NamespaceContext(), SETTINGS).state is state


def test_pod_is_evicted_from_the_moment_of_its_deletion() -> None:
    deleted = pod(annotations=ADMITTED, deletionTimestamp="2026-03-01T14:00:00Z")
    found = workload_of_pod(deleted, NamespaceContext(), SETTINGS).workload
    assert found is not None
    assert found.eviction == Eviction(EvictionReason.SUSPENDED, datetime(2026, 3, 1, 14, tzinfo=UTC))


def test_gated_pod_has_no_admission_whatever_its_annotations_say() -> None:
    found = workload_of_pod(pod(annotations=ADMITTED, **GATED), NamespaceContext(), SETTINGS)
    assert found.workload is not None
    assert (found.state, found.workload.admission) == (ObjectState.PENDING, None)


def test_evicted_pod_uses_its_quota_until_it_is_gone() -> None:
    note = write_annotation(EvictionAnnotation(reason="Reclaimed", time=EVICTED))
    found = workload_of_pod(pod(annotations={**ADMITTED, "quotree.dev/eviction": note}), NamespaceContext(), SETTINGS)
    assert found.workload is not None
    assert (found.state, found.workload.admission, found.workload.eviction) == (
        ObjectState.EVICTING,
        Admission(in_main({"cpu": "t4"}), STARTED),
        Eviction(EvictionReason.RECLAIMED, EVICTED),
    )


def member(name: str, size: str = "3", **rest: Any) -> Pod:
    return pod(name, labels={"quotree.dev/pod-group": "ring", "quotree.dev/pod-group-size": size}, **rest)


def read(*members: Pod) -> Reading:
    return workload_of_pod_group(members, NamespaceContext(), SETTINGS)


@pytest.mark.parametrize(("since", "expected"), [(None, EVICTED), (STARTED, STARTED)])
def test_evicted_pod_without_an_admission_runs_since_its_eviction_says_so(
    since: datetime | None, expected: datetime
) -> None:
    note = write_annotation(EvictionAnnotation(reason="Reclaimed", time=EVICTED, since=since))
    found = workload_of_pod(pod(annotations={"quotree.dev/eviction": note}), NamespaceContext(), SETTINGS)
    assert found.workload is not None
    assert found.workload.admission is not None
    assert found.workload.admission.since == expected


def test_pod_group_is_named_by_namespace_and_label() -> None:
    assert (pod_group_of(member("a")), pod_group_of(pod())) == ("team-a/ring", None)


def test_complete_pod_group_requests_all_its_pods() -> None:
    found = read(*(member(name, **GATED) for name in "cab"))
    assert found.workload is not None
    assert (found.state, found.workload.key, found.workload.kind, found.workload.uid) == (
        ObjectState.PENDING,
        "team-a/ring",
        "PodGroup",
        "uid-a",
    )
    assert (found.workload.request, found.workload.hold, found.problems) == ({"cpu": 3000}, False, ())


def test_pod_group_whose_pods_differ_in_preemptible_waits() -> None:
    one, other = member("a", "2", **GATED), member("b", "2", **GATED)
    other.metadata.labels["quotree.dev/preemptible"] = "false"
    found = read(one, other)
    assert found.workload is not None
    assert found.workload.hold
    assert found.problems == ("the pods of the group differ in label quotree.dev/preemptible; all must say the same",)


def test_label_of_others_on_one_pod_holds_its_group() -> None:
    labels = {"quotree.dev/pod-group": "g", "quotree.dev/pod-group-size": "2"}
    scan = "hold.quotree.dev/scan"
    found = read(pod("a", labels=labels, **GATED), pod("b", labels={**labels, scan: "true"}, **GATED)).workload
    assert found is not None
    assert (found.hold, found.gates) == (True, (scan,))


def test_incomplete_pod_group_waits_for_its_other_pods() -> None:
    found = read(member("a", **GATED), member("b", **GATED))
    assert found.workload is not None
    assert found.workload.hold
    assert found.problems == ("2 of the 3 pods of the group are there; it waits for the others",)


def test_pods_of_a_group_that_run_by_themselves_count_towards_its_size() -> None:
    waits = [member(name, size="5", **GATED) for name in "ab"]
    found = workload_of_pod_group(waits, NamespaceContext(), SETTINGS, apart=2)
    assert found.problems == ("4 of the 5 pods of the group are there; it waits for the others",)
    assert workload_of_pod_group(waits, NamespaceContext(), SETTINGS, apart=3).problems == ()


def test_pod_deleted_before_the_start_leaves_its_pod_group() -> None:
    deleted = member("c", deletionTimestamp="2026-03-01T14:00:00Z", **GATED)
    found = read(member("a", **GATED), member("b", **GATED), deleted)
    assert found.workload is not None
    assert found.workload.hold
    assert found.problems == ("2 of the 3 pods of the group are there; it waits for the others",)
    assert read(deleted).state is ObjectState.FINISHED
    again = read(member("a", **GATED), member("b", **GATED), deleted, member("d", **GATED))
    assert again.problems == ()


def test_labels_of_a_pod_that_has_ended_say_nothing_of_the_group_that_runs() -> None:
    """Nobody judges what its owner writes on an ended pod: it moved a running group, or took it out of all accounts."""
    ended = member("a", annotations=ADMITTED, status={"phase": "Succeeded"})
    rest = [member(name, annotations=ADMITTED) for name in "bc"]
    for group in ("nlp", None):
        ended.metadata.labels["quotree.dev/preemptible"] = "false"
        ended.metadata.labels["quotree.dev/flavor"] = "a100"
        ended.metadata.labels.pop("quotree.dev/group")
        if group is not None:
            ended.metadata.labels["quotree.dev/group"] = group
        found = read(ended, *rest)
        assert found.workload is not None
        assert (found.state, found.workload.group, found.workload.request) == (
            ObjectState.RUNNING,
            "vision",
            {"cpu": 2000},
        )
        assert (found.workload.preemptible, found.workload.only_flavor, found.workload.uid) == (True, None, "uid-b")
        ended.metadata.labels["quotree.dev/group"] = "vision"


def test_labels_of_a_pod_that_waits_say_nothing_of_the_group_that_runs() -> None:
    """They may be edited until it starts, also while others of its group run already."""
    waits = member("a", **GATED)
    waits.metadata.labels["quotree.dev/group"] = "nlp"
    found = read(waits, *(member(name, annotations=ADMITTED) for name in "bc"))
    assert found.workload is not None
    assert (found.state, found.workload.group) == (ObjectState.RUNNING, "vision")


def test_started_pod_group_with_a_problem_is_not_held() -> None:
    found = read(member("a", annotations=ADMITTED), member("b", size="4", annotations=ADMITTED))
    assert found.workload is not None
    assert (bool(found.problems), found.state, found.workload.hold) == (True, ObjectState.RUNNING, False)


def test_half_started_pod_group_counts_as_running() -> None:
    found = read(member("a", annotations=ADMITTED), member("b", **GATED), member("c", **GATED))
    assert found.workload is not None
    assert (found.state, found.workload.request, found.workload.admission, found.workload.hold) == (
        ObjectState.RUNNING,
        {"cpu": 3000},
        Admission(in_main({"cpu": "t4"}), STARTED),
        False,
    )


def test_pod_group_is_ready_when_every_pod_is_ready() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    most = [member(name, annotations=ADMITTED, status=ready) for name in "ab"]
    waiting = read(*most, member("c", annotations=ADMITTED)).workload
    done = read(*most, member("c", annotations=ADMITTED, status={"phase": "Succeeded"})).workload
    assert waiting is not None
    assert done is not None
    assert waiting.admission == Admission(in_main({"cpu": "t4"}), STARTED)
    assert (done.admission, done.request) == (
        Admission(in_main({"cpu": "t4"}), STARTED, ready=True, was_ready=True),
        {"cpu": 2000},
    )


def test_pod_group_is_finished_when_all_pods_have_ended() -> None:
    assert read(*(member(name, status={"phase": "Succeeded"}) for name in "abc")).state is ObjectState.FINISHED


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        (
            [member("a", "2", **GATED), member("b", "3", **GATED)],
            (
                "label quotree.dev/pod-group-size is '2', '3'; every pod of the group must say the same whole number "
                "from 1 to 1024"
            ),
        ),
        (
            [member("a", "\u0663", **GATED)],
            (
                "label quotree.dev/pod-group-size is '\u0663'; every pod of the group must say the same whole number "
                "from 1 to 1024"
            ),
        ),
        (
            [member("a", "1", **GATED), member("b", "1", **GATED)],
            "the group has 2 pods and says it has 1; all of them are counted",
        ),
    ],
    ids=["sizes differ", "no number", "too many"],
)
def test_contradicting_pod_group_waits_with_the_reason(members: list[Pod], problem: str) -> None:
    found = read(*members)
    assert found.workload is not None
    assert (found.workload.hold, found.problems) == (True, (problem,))


def test_unmanaged_pods_are_ignored() -> None:
    stranger = read_pod({"metadata": {"name": "x", "namespace": "elsewhere"}})
    assert workload_of_pod(stranger, NamespaceContext(), SETTINGS) == UNMANAGED
    assert workload_of_pod_group([stranger], NamespaceContext(), SETTINGS) == UNMANAGED
