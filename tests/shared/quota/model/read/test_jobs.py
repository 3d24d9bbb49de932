"""A Job's object alone tells whose quota it wants, how much, and in which state it is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.annotations import AdmissionAnnotation, EvictionAnnotation, RequeueAnnotation, write_annotation
from shared.api.core.job import read_job
from shared.api.core.limitrange import container_defaults, read_limit_range
from shared.api.core.placement import Placement, Toleration
from shared.api.core.priority import Priorities, read_priority_class
from shared.api.names import OWN_POD_GROUP
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import ObjectState, Reading, workload_of_job
from shared.quota.model.settings import GroupMaxima, QueueAge, QuotaSettings, StartupMaxima
from shared.quota.model.workload import Admission, Claim, Eviction, EvictionReason, Workload
from tests.builders import in_main

CREATED = datetime(2026, 3, 1, 12, tzinfo=UTC)
STARTED = datetime(2026, 3, 1, 13, tzinfo=UTC)
EVICTED = datetime(2026, 3, 1, 14, tzinfo=UTC)
SETTINGS = QuotaSettings()
MINUTE = timedelta(minutes=1)
EVICTION_NOTE = write_annotation(EvictionAnnotation(reason="Reclaimed", time=EVICTED))
ADMITTED = write_annotation(AdmissionAnnotation(flavors={"cpu": "a100"}, time=STARTED))


def job(
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    template: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    deleting: bool = False,
    **spec: Any,
) -> Any:
    """A Job of group vision whose pods ask for 2 cpus, changed as the test says."""
    pod = {"containers": [{"resources": {"requests": {"cpu": "2"}}}], **(template or {})}
    return read_job(
        {
            "metadata": {
                "name": "train",
                "namespace": "team-a",
                "uid": "u1",
                "creationTimestamp": "2026-03-01T12:00:00Z",
                "deletionTimestamp": "2026-03-01T15:00:00Z" if deleting else None,
                "labels": {"quotree.dev/group": "vision", **(labels or {})},
                "annotations": annotations or {},
            },
            "spec": {"template": {"spec": pod}, **spec},
            "status": status or {},
        }
    )


def read(**wishes: Any) -> Reading:
    return workload_of_job(job(**wishes), NamespaceContext(), SETTINGS)


def work(**wishes: Any) -> Workload:
    found = read(**wishes).workload
    assert found is not None
    return found


def test_held_job_is_pending_with_every_owner_setting() -> None:
    found = read(
        suspend=True,
        parallelism=4,
        completions=3,
        labels={"quotree.dev/preemptible": "false", "quotree.dev/flavor": "a100", "quotree.dev/hold": "true"},
        template={"nodeSelector": {"disk": "ssd"}, "priority": 7},
    )
    assert found == Reading(
        ObjectState.PENDING,
        Workload(
            key="team-a/train",
            group="vision",
            request={"cpu": 6000},
            created=CREATED,
            queued=CREATED,
            uid="u1",
            priority=7,
            preemptible=False,
            only_flavor="a100",
            placement=Placement({"disk": "ssd"}),
            pods=3,
            hold=True,
        ),
    )


def test_job_whose_pods_are_to_be_a_pod_group_waits_like_others() -> None:
    template = {"schedulingGroup": {"podGroupName": f"{OWN_POD_GROUP}train-1"}}
    assert read(suspend=True, template=template) == read(suspend=True)


PODS = {
    "absent parallelism is one": ({}, {}, 1),
    "work queue runs parallelism": ({"parallelism": 3}, {}, 3),
    "no more than completions": ({"parallelism": 5, "completions": 2}, {}, 2),
    "completions left": ({"parallelism": 5, "completions": 6}, {"succeeded": 4}, 2),
    "completions left, indexed": (
        {"parallelism": 5, "completions": 6, "completionMode": "Indexed"},
        {"succeeded": 3, "failedIndexes": "1,4"},
        1,
    ),
    "work queue after its first success keeps what is active": ({"parallelism": 3}, {"succeeded": 1, "active": 2}, 2),
    "lowered parallelism counts pods that are still active": ({"parallelism": 1}, {"active": 4}, 4),
    "parallelism zero": ({"parallelism": 0}, {}, 0),
    "negative parallelism": ({"parallelism": -3}, {}, 0),
    "more succeeded than asked": ({"parallelism": 2, "completions": 2}, {"succeeded": 9}, 0),
}


@pytest.mark.parametrize(("spec", "status", "pods"), PODS.values(), ids=PODS)
def test_request_covers_the_concurrent_pods_still_to_run(
    spec: dict[str, Any], status: dict[str, Any], pods: int
) -> None:
    assert work(suspend=True, status=status, **spec).request == ({"cpu": 2000 * pods} if pods else {})


ENDED = {"conditions": [{"type": "Complete", "status": "True"}]}
STATES: dict[str, tuple[dict[str, Any], ObjectState]] = {
    "held": ({"suspend": True}, ObjectState.PENDING),
    "started": ({"annotations": {"quotree.dev/admission": ADMITTED}}, ObjectState.RUNNING),
    "running as found": ({"status": {"active": 1}}, ObjectState.ADOPTED),
    "evicted, pods active": (
        {
            "suspend": True,
            "annotations": {"quotree.dev/eviction": EVICTION_NOTE},
            "status": {"active": 1},
        },
        ObjectState.EVICTING,
    ),
    "evicted, pods terminating": (
        {
            "suspend": True,
            "annotations": {"quotree.dev/eviction": EVICTION_NOTE},
            "status": {"terminating": 1},
        },
        ObjectState.EVICTING,
    ),
    "evicted, the controller has not yet looked": (
        {
            "suspend": True,
            "annotations": {"quotree.dev/eviction": EVICTION_NOTE},
            "status": {"startTime": "2026-03-01T13:00:00Z"},
        },
        ObjectState.EVICTING,
    ),
    "evicted, pods gone": (
        {
            "suspend": True,
            "annotations": {"quotree.dev/eviction": EVICTION_NOTE},
        },
        ObjectState.PENDING,
    ),
    "evicted and started again": (
        {
            "annotations": {
                "quotree.dev/eviction": EVICTION_NOTE,
                "quotree.dev/admission": ADMITTED,
            }
        },
        ObjectState.RUNNING,
    ),
    "suspended by its owner, pods active": (
        {"suspend": True, "annotations": {"quotree.dev/admission": ADMITTED}, "status": {"active": 1}},
        ObjectState.EVICTING,
    ),
    "suspended by its owner, pods gone": (
        {"suspend": True, "annotations": {"quotree.dev/admission": ADMITTED}},
        ObjectState.PENDING,
    ),
    "complete": ({"status": ENDED}, ObjectState.FINISHED),
    "failed": ({"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, ObjectState.FINISHED),
    "complete, a pod still ends": (
        {"annotations": {"quotree.dev/admission": ADMITTED}, "status": {**ENDED, "terminating": 1}},
        ObjectState.RUNNING,
    ),
    "deleted while held": ({"suspend": True, "deleting": True}, ObjectState.FINISHED),
    "deleted while held, with a pod that it has adopted": (
        {"suspend": True, "deleting": True, "status": {"active": 1}},
        ObjectState.FINISHED,
    ),
    "deleted while running": (
        {"deleting": True, "annotations": {"quotree.dev/admission": ADMITTED}, "status": {"active": 1}},
        ObjectState.RUNNING,
    ),
    "admission unreadable": ({"annotations": {"quotree.dev/admission": "{"}}, ObjectState.ADOPTED),
}


@pytest.mark.parametrize(("wishes", "state"), STATES.values(), ids=STATES)
def test_state_is_derived_from_the_object_alone(wishes: dict[str, Any], state: ObjectState) -> None:
    assert read(**wishes).state is state


def test_running_job_holds_its_admission_and_is_ready_with_enough_pods() -> None:
    annotations = {"quotree.dev/admission": ADMITTED}
    starting = work(annotations=annotations, parallelism=2, status={"ready": 1})
    running = work(annotations=annotations, parallelism=2, completions=4, status={"ready": 1, "succeeded": 1})
    assert starting.admission == Admission(in_main({"cpu": "a100"}), STARTED)
    assert running.admission == Admission(in_main({"cpu": "a100"}), STARTED, ready=True, was_ready=True)


def test_label_of_a_job_that_was_found_running_counts_from_its_next_start() -> None:
    labels = {"quotree.dev/preemptible": "false"}
    adopted = '{"flavors":{"cpu":"a100"},"time":"2026-03-01T13:00:00Z","adopted":true}'
    assert work(labels=labels, annotations={"quotree.dev/admission": adopted}).preemptible
    assert not work(labels=labels, annotations={"quotree.dev/admission": ADMITTED}).preemptible
    assert not work(labels=labels, suspend=True).preemptible


def test_evicted_job_uses_what_it_had_until_its_pods_are_gone_and_carries_the_claim() -> None:
    note = (
        '{"reason":"Preempted","rule":"Swap","time":"2026-03-01T14:00:00Z","flavors":{"cpu":"t4"},"since":"2026-03-01T13:00:00Z",'
        '"for":{"workload":"b/urgent","uid":"u9","flavors":{"cpu":"a100"}}}'
    )
    found = work(suspend=True, annotations={"quotree.dev/eviction": note}, status={"active": 1})
    assert (found.admission, found.eviction, found.claim) == (
        Admission(in_main({"cpu": "t4"}), STARTED),
        Eviction(EvictionReason.PREEMPTED, EVICTED, "Swap", "b/urgent", "u9"),
        Claim("b/urgent", "u9", in_main({"cpu": "a100"}), EVICTED, swap=True),
    )


def test_ended_claim_is_ignored() -> None:
    note = '{"reason":"Reclaimed","time":"2026-03-01T14:00:00Z","for":{"workload":"b/x"},"claimEnded":"Deleted"}'
    assert work(suspend=True, annotations={"quotree.dev/eviction": note}).claim is None


def test_job_suspended_by_its_owner_counts_until_its_pods_are_gone() -> None:
    found = work(
        suspend=True,
        annotations={"quotree.dev/admission": ADMITTED},
        status={
            "active": 1,
            "conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": "2026-03-01T14:00:00Z"}],
        },
    )
    assert (found.admission, found.eviction) == (
        Admission(in_main({"cpu": "a100"}), STARTED),
        Eviction(EvictionReason.SUSPENDED, EVICTED),
    )


def test_evicted_job_whose_pods_are_gone_is_not_admitted() -> None:
    found = work(suspend=True, annotations={"quotree.dev/eviction": EVICTION_NOTE})
    assert (found.admission, found.eviction) == (None, Eviction(EvictionReason.RECLAIMED, EVICTED))
    assert found.is_pending


@pytest.mark.parametrize(
    ("written", "timeout", "recovery"),
    [
        ('{"timeout": "9m", "recoveryTimeout": "9m"}', 5 * MINUTE, 9 * MINUTE),
        ('{"timeout": "4m"}', 4 * MINUTE, None),
        ('{"recoveryTimeout": "9m"}', None, 9 * MINUTE),
    ],
)
def test_times_of_an_owner_are_at_most_those_of_the_settings(
    written: str, timeout: timedelta | None, recovery: timedelta | None
) -> None:
    settings = QuotaSettings(maxima=GroupMaxima(startup=StartupMaxima(timeout=5 * MINUTE)))
    found = workload_of_job(job(annotations={"quotree.dev/startup": written}), NamespaceContext(), settings).workload
    assert found is not None
    assert (found.startup.timeout, found.startup.recovery_timeout) == (timeout, recovery)


def test_queue_place_is_kept_in_the_requeue_annotation() -> None:
    note = write_annotation(RequeueAnnotation(EVICTED, STARTED, 2, deactivated=True))
    found = work(suspend=True, annotations={"quotree.dev/requeue": note})
    assert (found.queued, found.not_before, found.failed_starts, found.deactivated) == (EVICTED, STARTED, 2, True)


def test_queue_can_be_ordered_by_creation() -> None:
    note = write_annotation(RequeueAnnotation(EVICTED))
    settings = QuotaSettings(queue_age=QueueAge.CREATION)
    found = workload_of_job(job(annotations={"quotree.dev/requeue": note}), NamespaceContext(), settings)
    assert found.workload is not None
    assert found.workload.queued == CREATED


@pytest.mark.parametrize("age", list(QueueAge))
def test_job_released_by_its_owner_waits_since_the_release(age: QueueAge) -> None:
    note = write_annotation(RequeueAnnotation(CREATED, released=EVICTED))
    settings = QuotaSettings(queue_age=age)
    found = workload_of_job(job(annotations={"quotree.dev/requeue": note}), NamespaceContext(), settings)
    assert found.workload is not None
    assert found.workload.queued == EVICTED


def test_placement_injected_by_the_webhook_is_not_of_the_owner() -> None:
    injected = '{"nodeSelector":{"gpu":"a100"},"tolerations":[{"key":"gpu","value":"true","effect":"NoSchedule"}]}'
    found = work(
        annotations={"quotree.dev/admission": ADMITTED, "quotree.dev/injected": injected},
        template={
            "nodeSelector": {"gpu": "a100", "disk": "ssd"},
            "tolerations": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}, {"operator": "Exists"}],
        },
    )
    assert found.placement == Placement({"disk": "ssd"}, None, (Toleration(operator="Exists"),))


def test_namespace_context_fills_in_request_and_priority() -> None:
    around = NamespaceContext(
        priorities=Priorities.of([read_priority_class({"metadata": {"name": "high"}, "value": 100})]),
        limits=container_defaults(
            [read_limit_range({"spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]}})]
        ),
        overheads={"kata": {"cpu": "1"}},
    )
    with_classes = job(template={"priorityClassName": "high", "runtimeClassName": "kata"}, parallelism=2)
    found = workload_of_job(with_classes, around, SETTINGS).workload
    assert found is not None
    assert (found.request, found.priority) == ({"cpu": 6000, "memory": 2**31}, 100)


def test_ignored_resources_are_left_out() -> None:
    container = {"resources": {"requests": {"ephemeral-storage": "1Gi", "cpu": "1"}}}
    assert work(template={"containers": [container]}).request == {"cpu": 1000}


SCAN, SIGN = "hold.quotree.dev/scan", "hold.quotree.dev/sign"


@pytest.mark.parametrize(
    ("labels", "gates"),
    [
        ({SCAN: "true"}, (SCAN,)),
        ({SIGN: "true", SCAN: "true", "quotree.dev/hold": "true"}, (SCAN, SIGN)),
        ({SIGN: "true", SCAN: "false"}, (SIGN,)),
        ({SCAN: "false"}, ()),
    ],
)
def test_labels_of_others_hold_it_each_by_itself(labels: dict[str, str], gates: tuple[str, ...]) -> None:
    found = work(suspend=True, labels=labels)
    reason = f"held by {', '.join(gates)}; those who set the labels take them off" if gates else ""
    assert (found.hold, found.gates, found.hold_reason) == (bool(gates), gates, reason)


@pytest.mark.parametrize(("letters", "others"), [("edcba", ""), ("gfedcba", " and 2 others")])
def test_of_many_labels_of_others_five_are_named(letters: str, others: str) -> None:
    labels = {f"hold.quotree.dev/{letter}": "true" for letter in letters}
    named = ", ".join(f"hold.quotree.dev/{letter}" for letter in "abcde")
    assert work(suspend=True, labels=labels).hold_reason == (
        f"held by {named}{others}; those who set the labels take them off"
    )


def test_unreadable_label_of_others_is_reported_and_counts_as_absent() -> None:
    found = read(suspend=True, labels={SCAN: "yes"})
    assert found.workload is not None
    assert not found.workload.hold
    assert found.problems == (f'label {SCAN} is \'yes\'; it counts as absent, write "true" or "false"',)


def test_invalid_fields_are_reported_and_count_as_absent() -> None:
    found = read(
        suspend=True,
        labels={"quotree.dev/preemptible": "no", "quotree.dev/hold": "yes"},
        annotations={"quotree.dev/admission": "[]", "quotree.dev/requeue": '{"failedStarts":-1}'},
        template={"priorityClassName": "unheard-of"},
    )
    assert found.workload == Workload(
        "team-a/train", "vision", {"cpu": 2000}, CREATED, CREATED, uid="u1", placement=Placement()
    )
    assert found.problems == (
        "annotation quotree.dev/admission is unreadable and counts as absent: Expected `object`, got `array`",
        "annotation quotree.dev/requeue is unreadable and counts as absent: Expected `int` >= 0 - at `$.failedStarts`",
        'label quotree.dev/preemptible is \'no\'; it counts as absent, write "true" or "false"',
        'label quotree.dev/hold is \'yes\'; it counts as absent, write "true" or "false"',
        "there is no PriorityClass 'unheard-of'; the priority counts as none",
    )


def test_job_with_an_unreadable_request_is_no_workload() -> None:
    found = read(suspend=True, template={"containers": [{"resources": {"requests": {"cpu": "lots"}}}]})
    assert found == Reading(
        ObjectState.PENDING,
        None,
        ("containers[0].resources.requests[cpu]: 'lots' is not a quantity; write for example 4, 500m, 1.5 or 16Gi",),
    )


@given(
    st.dictionaries(
        st.sampled_from([f"quotree.dev/{name}" for name in ("admission", "eviction", "requeue", "notice", "injected")]),
        st.one_of(
            st.text(max_size=40),
            st.sampled_from(
                ["null", "{}", "[]", "[" * 5000, '{"time":1e999}', '{"time":"9999-12-31T23:59:59-23:59","flavors":{}}']
            ),
            st.just('{"reason":"Reclaimed","time":"0001-01-01T00:00:00+23:59","flavors":{"cpu":"x"}}'),
        ),
    ),
    st.booleans(),
)
def test_no_annotation_value_makes_reading_fail(annotations: dict[str, str], suspend: bool) -> None:
    found = read(annotations=annotations, suspend=suspend, status={"active": 1})
    assert found.workload is not None
    assert found.workload.key == "team-a/train"
