"""No moment on an object and no duration of a group or setting makes a cycle, its explanation or its rest raise."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.api.durations import LONGEST
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.workload import Eviction, EvictionReason, Workload
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.simulate.run import run
from tests.builders import NOW, claimed, pending, running
from tests.shared.quota.decide.plan_words import given as given_world
from tests.trees import tree

MOMENTS = st.sampled_from([datetime.min.replace(tzinfo=UTC), NOW, datetime.max.replace(tzinfo=UTC)])
DURATIONS = st.sampled_from([timedelta(), timedelta(minutes=5), LONGEST])


@st.composite
def workloads(draw: st.DrawFn) -> list[Workload]:
    """What borrows, what is on its way out with a claim, and those who wait; each with moments of its own."""
    waits_for = pending("b", 4, "b1", created=draw(MOMENTS), queued=draw(MOMENTS))
    borrows = running("a", 5, "a1", since=draw(MOMENTS), ready=draw(st.booleans()))
    assert borrows.admission is not None
    lost = replace(borrows.admission, unready_since=draw(st.none() | MOMENTS), was_ready=draw(st.booleans()))
    leaves = replace(running("a", 2, "a2"), eviction=Eviction(EvictionReason.RECLAIMED, draw(MOMENTS)))
    return [
        waits_for,
        pending("b", 1, "b2", queued=draw(MOMENTS), failed_starts=draw(st.sampled_from([0, 1_000_000]))),
        pending("a", 1, "a3", not_before=draw(st.none() | MOMENTS)),
        replace(borrows, notice=draw(st.none() | MOMENTS), admission=lost),
        claimed(leaves, waits_for, draw(MOMENTS)) if draw(st.booleans()) else leaves,
    ]


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of reclaim, startup and queueing."""
    names = ("grace_period", "notice", "exempt_after_start", "claim_timeout", "timeout", "backoff_base", "backoff_max")
    return {
        **{name: draw(DURATIONS) for name in names},
        "recovery_timeout": draw(st.none() | DURATIONS),
        "wait_for_pods_ready": draw(st.booleans()),
        "queueing_patience": draw(st.none() | DURATIONS),
        "loss_grace_period": draw(DURATIONS),
    }


@settings(max_examples=300, deadline=None)
@given(workloads(), terms(), MOMENTS)
def test_no_moment_and_no_duration_makes_a_cycle_raise(
    work: list[Workload], chosen: dict[str, Any], now: datetime
) -> None:
    groups = tree("root 8\n  a 4\n  b 4")
    snapshot = measure(given_world(groups, work, **chosen), now)
    decided = plan(snapshot)
    named = {each.key for each in work if each.is_pending}
    assert {each.workload.key for each in decided.starts} <= named
    for each in work:
        assert explain(snapshot, decided, each).workload == each
    assert run(snapshot.world, now, 5).plans
