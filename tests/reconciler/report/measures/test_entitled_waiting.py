"""Since when workloads are entitled: what starts, what waits for a grace period or evictions, what only borrows."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from reconciler.report.measures.entitled_waiting import FIRST, EntitledWaiting
from shared.cluster.state.faults.register import Faults
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings, ReclaimSettings
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, evicting, pending, running, world
from tests.trees import GPU, KEY

TREE = """
root 8
  a 4
  b 4
"""
CAPACITY = (("default", GPU, 8),)
AT_ONCE = QuotaSettings(capacity=CAPACITY)
GRACE = QuotaSettings(capacity=CAPACITY, reclaim=ReclaimSettings(grace_period=timedelta(minutes=10)))
LENT = [running("b", 4, "full"), running("b", 4, "borrower", since=after(-60))]


def looked(at: datetime, found: World, known: EntitledWaiting | None = None) -> EntitledWaiting:
    entitled = known or EntitledWaiting()
    for _ in entitled.look(plan(measure(found, at)), Faults()):
        pass
    return entitled


def of(workloads: Iterable[Workload], settings: QuotaSettings = AT_ONCE) -> World:
    return world(TREE, workloads, settings=settings)


def test_workload_waiting_for_a_grace_period_is_entitled_since_it_was_first_seen() -> None:
    waits = pending("a", 4, "waits")
    entitled = looked(NOW, of([*LENT, waits], GRACE))
    looked(after(30), of([*LENT, waits], GRACE), entitled)
    assert entitled.longest(after(40)) == {"a": timedelta(seconds=40)}
    assert entitled.waited(waits, after(40)) == timedelta(seconds=40)


def test_workload_that_starts_at_once_or_would_borrow_is_not_listed() -> None:
    found = of([running("b", 4, "full"), pending("a", 4, "starts"), pending("b", 1, "borrows")])
    assert looked(NOW, found).longest(NOW) == {}


def test_a_preemptor_is_entitled_while_its_victims_end() -> None:
    waits = pending("a", 4, "waits")
    entitled = looked(NOW, of([*LENT, waits]))
    ends = of([LENT[0], evicting(LENT[1], waits), waits])
    looked(after(5), ends, entitled)
    assert entitled.longest(after(6)) == {"a": timedelta(seconds=6)}


def test_entry_is_dropped_when_the_workload_starts_or_its_group_is_deleted() -> None:
    waits = pending("a", 4, "waits")
    entitled = looked(NOW, of([*LENT, waits], GRACE))
    looked(after(1), of([LENT[0], waits], GRACE), entitled)
    assert entitled.longest(after(2)) == {}
    looked(after(3), of([*LENT, waits], GRACE), entitled)
    looked(after(4), world("root 8\n  b 4", LENT, settings=GRACE), entitled)
    assert entitled.longest(after(5)) == {}
    assert entitled.waited(waits, after(5)) == timedelta()


def test_min_that_cannot_be_reclaimed_entitles_no_workload() -> None:
    held = [running("b", 4, "full", preemptible=False), running("b", 4, "unowned", preemptible=False)]
    found = of([*held, pending("a", 2, "waits")])
    assert measure(found, NOW).numbers["a"][KEY].runtime == 0
    assert looked(NOW, found).longest(NOW) == {}


def test_only_the_first_workloads_of_a_long_queue_are_checked() -> None:
    line = [pending("a", 1, f"job-{each:03}", queued=after(each)) for each in range(FIRST + 5)]
    entitled = looked(after(100), of([*LENT, *line], GRACE))
    assert entitled.waited(line[0], after(101)) == timedelta(seconds=1)
    assert entitled.waited(line[-1], after(101)) == timedelta()
