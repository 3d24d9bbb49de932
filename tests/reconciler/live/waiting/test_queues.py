"""Who of those that wait comes first: strict and passing queues, priorities, age, shares between groups."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dev.controlplane import cluster
from shared.api.names import ADMISSION, FLAVOR_LABEL
from tests.reconciler.reconciler_process import (
    MERGE,
    Quotree,
    admission_of,
    eviction_of,
    finished,
    job_manifest,
    quota,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@contextmanager
def priorities(q: Quotree, **values: int) -> Iterator[None]:
    """PriorityClasses for the length of the block."""
    for name, value in values.items():
        body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        q.create(CLASSES, {**body, "value": value})
    try:
        yield
    finally:
        for name in values:
            q.delete(f"{CLASSES}/{name}")


# Jobs of one second come in the order of their names: a creation time says no more.


def order_of_starts(q: Quotree) -> list[str]:
    """The names of all Jobs that have started, in the order of their latest start."""
    notes = {name: admission_of(job) for name, job in q.jobs().items()}
    return sorted((name for name in notes if notes[name]), key=lambda name: (notes[name] or {})["time"])


def pending(q: Quotree, group: str) -> int:
    return int(q.group_status(group).get("workloads", {}).get("pending", 0))


def running_in(q: Quotree, group: str) -> int:
    return sum(1 for name in q.running() if name.rsplit("-", 1)[0] == group)


def two_models(q: Quotree) -> None:
    for name in ("fast", "slow"):
        q.control_plane.add_nodes(
            [cluster.NodeSpec(f"{name}-0", labels={"model": name}, allocatable={"cpu": "4", "pods": "20"})]
        )
        q.flavor(name, nodeLabels={"model": name})


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_waiting_head_blocks_others_only_in_a_strict_queue_on_its_flavors(q: Quotree, strategy: str) -> None:
    two_models(q)
    q.lead()
    entries = [quota("fast", min="2", max="2"), quota("slow", min="2", max="2")]
    q.group("vision", quotas=entries, queueing={"strategy": strategy})
    q.job("first", "vision", "1", labels={FLAVOR_LABEL: "fast"})
    wait_for(lambda: q.running() == {"first"}, "the first runs", LONG)
    q.group("vision", stopPolicy="Hold")
    q.known("vision")
    q.job("a-head", "vision", "2", labels={FLAVOR_LABEL: "fast"})
    q.job("b-same", "vision", "1", labels={FLAVOR_LABEL: "fast"})
    q.job("c-either", "vision", "1")
    q.group("vision", stopPolicy="None")
    passes = {"first", "c-either"} if strategy == "StrictFIFO" else {"first", "c-either", "b-same"}
    wait_for(lambda: q.running() == passes, "those who may pass have passed", LONG)
    if strategy == "StrictFIFO":
        assert (admission_of(q.get_job("c-either")) or {})["flavors"] == {"cpu": "slow"}
    for name in passes - {"c-either"}:
        q.delete(f"{JOBS}/{name}")
    wait_for(lambda: "a-head" in q.running(), "the head has its turn", LONG)


@pytest.mark.parametrize("patience", ["1h", "1s"])
def test_large_job_is_passed_until_the_patience_of_its_queue_ends(q: Quotree, patience: str) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="10", max="10")], queueing={"patience": patience})
    q.job("runs", "vision", "4")
    wait_for(lambda: q.running() == {"runs"}, "the first runs", LONG)
    q.job("large", "vision", "8")
    wait_for(lambda: q.events("large"), "it waits, and has for three seconds", LONG)
    q.job("small", "vision", "2")
    if patience == "1h":
        wait_for(lambda: q.running() == {"runs", "small"}, "the small one has passed", LONG)
        return
    wait_for(lambda: q.events("small"), "the small one is told why it waits", LONG)
    assert ([reason for reason, _ in q.events("small")], q.running()) == (["BehindHead"], {"runs"})
    q.delete(f"{JOBS}/runs")
    wait_for(lambda: q.running() == {"large", "small"}, "the large one starts, and then the small one", LONG)
    assert order_of_starts(q) == ["large", "small"]


def test_head_that_can_never_fit_is_skipped_and_reported(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="2")], queueing={"strategy": "StrictFIFO"})
    q.known("vision")
    q.job("huge", "vision", "3")
    wait_for(lambda: pending(q, "vision") == 1, "it is seen", LONG)
    q.job("small", "vision", "1")
    wait_for(lambda: q.running() == {"small"}, "the one behind it runs", LONG)
    wait_for(lambda: q.events("huge"), "its owner is told", LONG)
    ((reason, note),) = q.events("huge")
    assert reason == "NeverFits"
    assert "it could never fit" in note


def test_queue_is_ordered_by_priority_then_age(q: Quotree) -> None:
    with priorities(q, high=100, low=-100):
        q.lead()
        q.group("vision", quotas=[quota(min="1", max="1")], stopPolicy="Hold")
        for name, priority in (("meek", "low"), ("first", ""), ("second", ""), ("urgent", "high")):
            q.job(name, "vision", run_for="100ms", pod={"priorityClassName": priority} if priority else {})
        wait_for(lambda: pending(q, "vision") == 4, "all wait", LONG)
        q.group("vision", stopPolicy="None")
        wait_for(lambda: all(finished(job) for job in q.jobs().values()), "all have finished", LONG)
        assert order_of_starts(q) == ["urgent", "first", "second", "meek"]


@pytest.mark.parametrize("age", ["Eviction", "Creation"])
def test_age_of_an_evicted_workload_counts_from_eviction_or_creation_as_set(q: Quotree, age: str) -> None:
    q.lead(queueAge=age)
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.job("old", "vision")
    wait_for(lambda: q.running() == {"old"}, "the old one runs", LONG)
    q.job("young", "vision")
    q.group("vision", stopPolicy="HoldAndDrain")
    wait_for(lambda: eviction_of(q.get_job("old")), "the old one is evicted", LONG)
    q.group("vision", stopPolicy="None")
    started = wait_for(q.running, "one of them starts", LONG)
    assert started == ({"young"} if age == "Eviction" else {"old"})


def test_borrowing_groups_share_by_weight_and_start_many_workloads_at_once(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="12")])
    for name, weight in (("one", "1"), ("two", "2"), ("three", "3")):
        q.group(name, quotas=[quota(max="12", weight=weight)], stopPolicy="Hold")
        for number in range(8):
            q.job(f"{name}-{number}", name)
    wait_for(lambda: pending(q, "root") == 24, "all wait", LONG)
    q.group("root", stopPolicy="Hold")
    for name in ("one", "two", "three"):
        q.group(name, stopPolicy="None")
    q.group("root", stopPolicy="None")
    wait_for(lambda: len(q.running()) == 12, "the cluster is full", LONG)
    assert {name: running_in(q, name) for name in ("one", "two", "three")} == {"one": 2, "two": 4, "three": 6}
    notes = [admission_of(job) for job in q.jobs().values()]
    assert len({note["time"] for note in notes if note is not None}) == 1, "one cycle decides all of it"


def test_changed_namespace_selector_admits_pending_and_keeps_running_workloads(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2")], namespaceSelector={"matchLabels": {"team": "vision"}})
    q.job("waits", "vision")
    wait_for(lambda: q.events("waits"), "it is told", LONG)
    q.group("vision", namespaceSelector={"matchLabels": {"team": None}})
    wait_for(lambda: q.running() == {"waits"}, "every namespace is admitted", LONG)
    q.group("vision", namespaceSelector={"matchLabels": {"team": "nobody"}})
    q.known("vision")
    q.job("late", "vision")
    wait_for(lambda: q.events("late"), "the next one is told", LONG)
    assert q.running() == {"waits"}


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


@contextmanager
def refusing(q: Quotree, flavor: str) -> Iterator[None]:
    """A cluster that calls starts in this flavor invalid, as it does pods that contradict themselves."""
    says = (
        f"!('{ADMISSION}' in object.metadata.?annotations.orValue({{}})) || !object.metadata.annotations['{ADMISSION}']"
    )
    spec = {
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["jobs"]}
            ]
        },
        "validations": [
            {"expression": f"{says}.contains('{flavor}')", "reason": "Invalid", "message": "these nodes are not for it"}
        ],
    }
    q.create(POLICIES, {"metadata": {"name": "refuse"}, "spec": spec})
    binding = {"policyName": "refuse", "validationActions": ["Deny"]}
    q.create(BINDINGS, {"metadata": {"name": "refuse"}, "spec": binding})
    try:
        q.create(JOBS, job_manifest("probe", None))
        probe = {"metadata": {"annotations": {ADMISSION: flavor}}}
        wait_for(
            lambda: q.control_plane.rest.request("PATCH", f"{JOBS}/probe?dryRun=All", probe, MERGE)[0] == 422,
            "it refuses",
            LONG,
        )
        yield
    finally:
        q.delete(f"{BINDINGS}/refuse")
        q.delete(f"{POLICIES}/refuse")


def test_refused_start_is_reported_and_the_next_flavor_is_tried(q: Quotree) -> None:
    two_models(q)
    with refusing(q, "fast"):
        q.lead()
        q.group("vision", quotas=[quota("fast", min="2"), quota("slow", min="2")])
        q.known("vision")
        q.job("picky", "vision", "1")
        wait_for(lambda: q.running() == {"picky"}, "it starts", LONG)
        assert (admission_of(q.get_job("picky")) or {})["flavors"] == {"cpu": "slow"}
        wait_for(lambda: {"StartRefused", "Started"} <= dict(q.events("picky")).keys(), "both tries are told", LONG)
        # On a slow machine a third event says why it waits between them.
        reported = [each for each in q.events("picky") if each[0] in ("StartRefused", "Started")]
    (refused, why), (done, note) = reported
    assert (refused, done) == ("StartRefused", "Started")
    assert why.startswith("could not be started in cpu from fast; other flavors are tried: ")
    assert "these nodes are not for it" in why
    assert note == "group vision admits it, entitled: cpu from slow"
