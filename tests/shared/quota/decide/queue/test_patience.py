"""A head that has waited for the patience of its leaf holds back those behind it. docs/specification.md §6.8."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import GroupMaxima, QueueingMaxima
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.run import advance
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import decide, given, starts, waits
from tests.trees import tree

HOUR = 3600
TEN_MINUTES = timedelta(minutes=10)
ROOT = "root 10"


def work(waited: float, **head: object) -> list[Workload]:
    """6 of 10 in use, a head that wants 8 and has waited so long, and a younger one that wants 2."""
    big = pending("a", 8, "big", created=after(-waited), **head)
    return [running("a", 6, "runs", preemptible=False), big, pending("a", 2, "small", created=after(-1))]


@pytest.mark.parametrize(
    ("groups", "waited", "passes"),
    [
        pytest.param("a 0", HOUR - 1, True, id="not yet"),
        pytest.param("a 0", HOUR, False, id="for an hour, the default"),
        pytest.param("a 0 strict", 2, False, id="StrictFIFO has no patience"),
    ],
)
def test_waiting_head_is_passed_until_its_patience_ends(groups: str, waited: float, passes: bool) -> None:
    decided = decide(f"{ROOT}\n{groups}", work(waited))
    assert starts(decided) == (["small entitled"] if passes else [])
    assert waits(decided).get("small") == (None if passes else "BehindHead")


def test_patience_of_a_group_overrides_the_cluster_setting() -> None:
    found = tree(f"{ROOT}\na 0")
    own = Tree.of([replace(each, patience=TEN_MINUTES) for each in found.groups.values()])
    assert starts(decide(own, work(599))) == ["small entitled"]
    assert starts(decide(own, work(600))) == []
    assert starts(decide(own, work(600), queueing_patience=None)) == []


def test_patience_of_a_group_is_limited_by_the_maximum() -> None:
    found = tree(f"{ROOT}\na 0")
    own = Tree.of([replace(each, patience=timedelta(days=1)) for each in found.groups.values()])
    maxima = GroupMaxima(queueing=QueueingMaxima(TEN_MINUTES))
    assert starts(decide(own, work(599), maxima=maxima)) == ["small entitled"]
    assert starts(decide(own, work(600), maxima=maxima)) == []


def test_head_without_patience_is_passed_indefinitely() -> None:
    decided = decide(f"{ROOT}\na 0", work(1e9), queueing_patience=None)
    assert starts(decided) == ["small entitled"]


def test_blocked_workload_names_the_head_that_blocks_it() -> None:
    decided = decide(f"{ROOT}\na 0", work(HOUR))
    assert [each.message for each in PendingReasons(decided)][-1] == (
        "Job 'ns/small' waits: Job 'ns/big' is before it and has waited for longer than others may pass it in group 'a'"
    )


def test_head_that_could_never_fit_blocks_none() -> None:
    never = pending("a", 11, "never", created=after(-2 * HOUR))
    decided = decide(f"{ROOT}\na 0", [never, pending("a", 2, "small")])
    assert (starts(decided), waits(decided)) == (["small entitled"], {"never": "NeverFits"})


def test_head_blocks_only_the_flavors_it_waits_for() -> None:
    flavors = (Flavor("x"), Flavor("y"))
    capacity = (("x", "gpu", 10), ("y", "gpu", 10))
    workloads = [
        running("a", 6, "runs", "x", preemptible=False),
        pending("a", 8, "big", created=after(-HOUR), only_flavor="x"),
        pending("a", 2, "either"),
        pending("a", 2, "same", only_flavor="x"),
    ]
    decided = decide("a x:gpu 0 | y:gpu 0", workloads, flavors, capacity=capacity)
    assert starts(decided) == ["either entitled y"]
    assert waits(decided) == {"big": "WaitingForQuota", "same": "BehindHead"}


@pytest.mark.parametrize("strategy", ["", "strict"])
def test_workload_without_a_request_is_never_blocked(strategy: str) -> None:
    free = pending("a", {}, "free")
    assert starts(decide(f"{ROOT}\na 0 {strategy}", [*work(HOUR), free])) == ["free entitled"]


def test_workload_behind_a_higher_priority_head_blocks_those_behind_it_after_its_patience() -> None:
    workloads = [
        running("a", 6, "runs", preemptible=False),
        pending("a", 8, "urgent", priority=1),
        pending("a", 8, "old", created=after(-HOUR)),
        pending("a", 2, "small", created=after(-1)),
    ]
    assert starts(decide(f"{ROOT}\na 0", workloads)) == []


@pytest.mark.parametrize(("patience", "starts_after"), [(None, None), (TEN_MINUTES, 640)])
def test_stream_of_small_jobs_starves_a_large_one_only_without_patience(
    patience: timedelta | None, starts_after: int | None
) -> None:
    """Every 10 s a job of 2 arrives and runs for 45 s, so that 8 of 10 are never free while they may pass."""
    first = [running("a", 2, f"first-{number}", since=after(-10 * number)) for number in range(5)]
    world = given(f"{ROOT}\na 0", [*first, pending("a", 8, "big")], queueing_patience=patience)
    cache, began = CycleCache(), None
    for second in range(0, 3600, 5):
        now = after(second)
        world = _without_finished(world, now)
        if second % 10 == 0:
            world = world.with_changes([(None, pending("a", 2, f"small-{second}", created=now))])
        decided = plan(measure(world, now), cache)
        world = advance(world, decided)
        if began is None and "big entitled" in starts(decided):
            began = second
    assert began is None if starts_after is None else began is not None and 600 <= began <= starts_after


def _without_finished(world: World, now: datetime) -> World:
    ended = timedelta(seconds=45)
    running_now = world.workloads_of("a").admitted
    finished = [each for each in running_now if each.admission is not None and each.admission.since + ended <= now]
    return world.with_changes([(each, None) for each in finished if each.key != "ns/big"])


def test_end_of_patience_wakes_the_cycle_with_several_flavors() -> None:
    """Time alone changes what starts there: who is held back in one flavor takes another."""
    capacity = (("x", "gpu", 10), ("y", "gpu", 10))
    workloads = [
        running("a", 10, "runs", "x", preemptible=False),
        pending("a", 1, "big", created=after(-60), only_flavor="x"),
        pending("a", 2, "same", only_flavor="x"),
    ]
    several = decide("a x:gpu 0 | y:gpu 0", workloads, (Flavor("x"), Flavor("y")), capacity=capacity)
    assert several.wake_at is not None
    assert after(HOUR - 60) <= several.wake_at < after(HOUR - 60 + HOUR / 8)
    assert decide(f"{ROOT}\na 0", work(60)).wake_at is None


def test_leaf_is_measured_again_when_the_patience_of_its_head_ends() -> None:
    world = given(
        "a x:gpu 0 | y:gpu 0",
        [pending("a", 8, "big", created=after(-60), only_flavor="x"), pending("a", 2, "small", only_flavor="x")],
        (Flavor("x"), Flavor("y")),
        capacity=(("x", "gpu", 10), ("y", "gpu", 10)),
    )
    first = measure(world, NOW)
    due = first.leaves["a"].next_change
    assert due is not None
    assert measure(world, due, first).leaves["a"].next_change is None


def test_what_a_patient_head_holds_back_gives_its_leaf_no_better_place() -> None:
    """Until 10 s, `old` is p's first that fits; then `big` holds it back, and c's is older than p's other one."""
    flavors, capacity = (Flavor("x"), Flavor("y")), (("x", "gpu", 10), ("y", "gpu", 10))
    run = [running("b", 8, "bx", "x"), running("b", 1, "bx1", "x"), running("b", 8, "by", "y")]
    gone = [running("b", 1, "gone-x", "x"), running("b", 2, "gone-y", "y")]
    work = [
        pending("a", 8, "big", created=after(10) - TEN_MINUTES, only_flavor="x"),
        pending("a", 1, "old", created=after(-99), only_flavor="x"),
        pending("a", 2, "young", created=after(-1), only_flavor="y"),
        pending("c", 2, "other", created=after(-50), only_flavor="y"),
    ]
    groups = """
    p/ x:gpu 0 w0 | y:gpu 0 w0
      a x:gpu 0 w0 | y:gpu 0 w0
    q/ x:gpu 0 w0 | y:gpu 0 w0
      c x:gpu 0 w0 | y:gpu 0 w0
    b x:gpu 10 | y:gpu 10
    """
    world = given(groups, [*run, *gone, *work], flavors, capacity=capacity, queueing_patience=TEN_MINUTES)
    freed, cache = world.with_changes([(each, None) for each in gone]), CycleCache()
    before = measure(world, NOW)
    assert starts(plan(before, cache)) == []
    assert starts(plan(measure(freed, after(9)))) == ["old opportunistic x", "other opportunistic y"]
    now = measure(freed, after(10), before)
    assert starts(plan(now, cache)) == starts(plan(now)) == ["other opportunistic y"]
