"""Typical uses of quota trees with real Jobs: sharing by weight, returning, nearest siblings first."""

import pytest

from dev.controlplane import cluster
from tests.reconciler.reconciler_process import Quotree, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
CARD = "example.com/card"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def numbers(q: Quotree, word: str, groups: str, resource: str = "cpu") -> dict[str, str | None]:
    """One number of each group, of the flavor `default`."""
    found = {}
    for group in groups.split():
        entries = q.group_status(group).get("quotas", [])
        found[group] = next((each[word].get(resource) for each in entries if each["flavor"] == "default"), None)
    return found


def running_in(q: Quotree, group: str) -> int:
    return sum(1 for name in q.running() if name.rsplit("-", 1)[0] == group)


def submit(q: Quotree, group: str, jobs: int, cpu: str, first: int = 0) -> None:
    for number in range(first, first + jobs):
        q.job(f"{group}-{number}", group, cpu)


def victims(q: Quotree, preemptor: str) -> dict[str, int]:
    """Group -> how many of its Jobs were recycled for that preemptor."""
    found: dict[str, int] = {}
    for name, job in q.jobs().items():
        note = eviction_of(job)
        if note is not None and note["for"]["workload"] == f"default/{preemptor}":
            group = name.rsplit("-", 1)[0]
            found[group] = found.get(group, 0) + 1
    return found


def counts(q: Quotree, groups: str) -> dict[str, int]:
    return {group: running_in(q, group) for group in groups.split()}


def units(q: Quotree, number: str) -> dict[str, int]:
    """That number of cards of each of the four groups."""
    return {name: int(amount or 0) for name, amount in numbers(q, number, "a b c d", CARD).items()}


def cards(**limits: int) -> dict[str, object]:
    """One entry about cards, which are dealt in whole pieces."""
    return {"flavor": "default", **{name: {CARD: str(number)} for name, number in limits.items()}}


def test_unused_share_of_one_group_is_shared_by_weight(q: Quotree) -> None:
    q.control_plane.add_nodes([cluster.NodeSpec("cards-0", allocatable={CARD: "100", "pods": "100"})])
    q.lead()
    for name, least, weight in (("a", 10, 40), ("b", 15, 60), ("c", 20, 50), ("d", 15, 80)):
        q.group(name, quotas=[cards(min=least, weight=weight)], stopPolicy="Hold")
    container = {"name": "main", "image": "none", "resources": {"requests": {CARD: "5"}, "limits": {CARD: "5"}}}
    for name, jobs in (("a", 1), ("b", 4), ("c", 8), ("d", 14)):
        for number in range(jobs):
            q.job(f"{name}-{number}", name, pod={"containers": [container]})
    for name in "dcba":
        q.group(name, stopPolicy="None")

    def shared() -> bool:
        """20 jobs run, and c and d share by weight within one job: a unit that no whole share covers stays in use."""
        now = counts(q, "a b c d")
        return sum(now.values()) == 20 and (now["a"], now["b"]) == (1, 4) and abs(now["c"] - 7) <= 1

    wait_for(shared, "each has its runtime within one job", LONG)
    wait_for(lambda: units(q, "used") == {n: 5 * jobs for n, jobs in counts(q, "a b c d").items()}, "all count", LONG)

    def divided() -> bool:
        """c gets 35 of what a and b leave, within one unit for each of the two rounds of the division."""
        runtime = units(q, "runtime")
        return (runtime["a"], runtime["b"], runtime["c"] + runtime["d"]) == (5, 20, 75) and abs(runtime["c"] - 35) <= 2

    wait_for(divided, "the runtimes are by weight", LONG)
    wait_for(lambda: units(q, "request") == {"a": 5, "b": 20, "c": 40, "d": 70}, "the requests are there too", LONG)
    wait_for(lambda: sum(len(q.pods_on_nodes(name)) for name in q.running()) == 20, "all are on the node", LONG)


def test_borrowed_quota_is_returned_and_borrowed_again(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="100")])
    for name in "ab":
        q.group(name, quotas=[quota(min="40", max="100")])
    submit(q, "a", 10, "10")
    wait_for(lambda: running_in(q, "a") == 10, "a uses the whole cluster", LONG)
    wait_for(lambda: numbers(q, "borrowed", "a") == {"a": "60"}, "its status says what it borrows", LONG)
    submit(q, "b", 10, "10")
    wait_for(lambda: counts(q, "a b") == {"a": 5, "b": 5}, "each has its half", LONG)
    wait_for(lambda: numbers(q, "runtime", "a b") == {"a": "50", "b": "50"}, "each has a runtime of one half", LONG)
    wait_for(lambda: numbers(q, "request", "a b") == {"a": "100", "b": "100"}, "and requests it all", LONG)
    recycled = {name: note for name, job in q.jobs().items() if (note := eviction_of(job)) is not None}
    assert len(recycled) == 5
    assert {note["reason"] for note in recycled.values()} == {"Reclaimed"}
    q.delete(f"{JOBS}?labelSelector=quotree.dev/group=b")
    wait_for(lambda: counts(q, "a b") == {"a": 10, "b": 0}, "a has it all again", LONG)


def test_nearest_siblings_are_reclaimed_first_and_only_what_they_borrowed(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="10")])
    q.group("near", isParent=True, quotas=[quota(min="6", weight="1")])
    q.group("preemptor", parent="near", quotas=[quota(min="4")])
    q.group("sibling", parent="near", quotas=[quota(min="2")])
    q.group("outsider", quotas=[quota(min="2", weight="1")])
    submit(q, "sibling", 6, "1")
    submit(q, "outsider", 4, "1")
    wait_for(lambda: counts(q, "sibling outsider") == {"sibling": 6, "outsider": 4}, "both borrow", LONG)
    submit(q, "preemptor", 1, "2")
    wait_for(lambda: running_in(q, "preemptor") == 1, "the first preemptor runs", LONG)
    assert victims(q, "preemptor-0") == {"sibling": 1, "outsider": 1}
    wait_for(lambda: numbers(q, "runtime", "near outsider") == {"near": "7", "outsider": "3"}, "the numbers", LONG)
    submit(q, "preemptor", 1, "2", first=1)
    wait_for(lambda: running_in(q, "preemptor") == 2, "the second preemptor runs", LONG)
    assert victims(q, "preemptor-1") == {"sibling": 2}
    assert counts(q, "sibling outsider") == {"sibling": 3, "outsider": 3}
