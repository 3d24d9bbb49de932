"""Who holds what a workload waits for, and what of it is borrowed."""

from datetime import timedelta

from shared.quota.decide.explain.explanation import explain
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, after, evicting, pending, running, world
from tests.shared.quota.decide.plan_words import given


def test_what_is_borrowed_is_held_by_those_that_go_first() -> None:
    waits, leaves = pending("b", 6, "waits"), evicting(running("a", 3, "leaves", priority=1))
    fixed = running("a", 2, "fixed", preemptible=False)
    snapshot = measure(world("root 9\n  a 5\n  b 4", [leaves, running("a", 4, "stays"), fixed, waits]), NOW)
    [flavor] = explain(snapshot, plan(snapshot), waits).flavors
    held = {each.workload.key: (each.amount, each.borrowed) for each in flavor.holders}
    assert held == {"ns/stays": (4, 1), "ns/leaves": (3, 3), "ns/fixed": (2, 0)}


def test_grace_keeps_what_another_group_owes_and_not_what_has_lower_priority() -> None:
    waits = pending("b", 4, "waits", priority=1)
    work = [running("a", 6, "owes"), running("b", 2, "lower"), waits]
    snapshot = measure(given("root 8\n  a 2\n  b 6", work, grace_period=timedelta(seconds=60)), NOW)
    [flavor] = explain(snapshot, plan(snapshot), waits).flavors
    found = {each.workload.key: (each.because, each.until) for each in flavor.holders}
    assert found == {"ns/owes": ("GracePeriod", after(60)), "ns/lower": ("", None)}
