"""Turns: a job larger than its leaf's share runs in its time. docs/specification.md §6.11."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.turns.turn_order import why_no_turn
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import StopPolicy, Tree, WhenCanBorrow, WhenCanReclaim
from shared.quota.model.workload import Turn, Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.step import advance, carry_out
from tests.builders import NOW, after, in_main, pending, running
from tests.shared.quota.decide.plan_words import evictions, given, starts, waits
from tests.trees import GPU, KEY, tree

EQUAL = "root 4\n  a 0 w1\n  b 0 w1"
LONG_AGO = after(-7200)


def turns(decided: Plan) -> list[str]:
    """The waiting workloads whose turn begins."""
    return sorted(each.workload.key.removeprefix("ns/") for each in decided.turns_begun)


def message_of(decided: Plan, key: str) -> str:
    """Why the workload waits, in words."""
    return next(each.message for each in PendingReasons(decided) if each.workload.key == key)


def large(name: str = "large", amount: int = 3, leaf: str = "b", **fields: Any) -> Workload:
    """A job that has waited for longer than an hour."""
    return pending(leaf, amount, name, **{"created": LONG_AGO, **fields})


def small(leaf: str = "a", count: int = 4) -> list[Workload]:
    """Jobs of 1 that run, and as many that wait."""
    run = [running(leaf, 1, f"{leaf}{number}", since=after(number - 100)) for number in range(count)]
    return [*run, *(pending(leaf, 1, f"{leaf}-next{number}") for number in range(count))]


def holding(job: Workload, since: datetime = NOW, flavor: str = "default") -> Workload:
    """The job with a turn."""
    return replace(job, turn=Turn(in_main(dict.fromkeys(job.request, flavor)), since))


def world_of(
    groups: str | Tree, *workloads: Iterable[Workload] | Workload, past: dict[str, int] | None = None, **fields: Any
) -> World:
    """A world in which groups have used so much in the past."""
    every = [each for some in workloads for each in ([some] if isinstance(some, Workload) else some)]
    past_use = {name: {KEY: amount} for name, amount in (past or {"a": 10}).items()}
    return replace(given(groups, every, **fields), past_use=past_use)


def decide(world: World, now: datetime = NOW) -> Plan:
    return plan(measure(world, now))


def end(world: World, *names: str) -> World:
    """The world in which these jobs have ended."""
    every = [each for found in world.workload_sets.values() for each in found.by_id.values()]
    return world.with_changes((each, None) for each in every if each.key.removeprefix("ns/") in names)


def test_large_job_gets_what_ends_and_nobody_is_evicted() -> None:
    world, seen = world_of(EQUAL, small(), large()), []
    for ending in ("", "a0", "a1", "a2"):
        decided = decide(end(world, ending))
        seen.append((turns(decided), starts(decided), evictions(decided)))
        world = advance(end(world, ending), decided)
    assert seen == [(["large"], [], []), ([], [], []), ([], [], []), ([], ["large entitled"], [])]
    numbers = measure(world, NOW).numbers
    assert (numbers["a"][KEY].runtime, numbers["b"][KEY].runtime) == (1, 3)


def test_running_job_is_not_over_its_runtime_by_its_turn() -> None:
    job = replace(holding(large()), admission=running("b", 3).admission)
    small_ones = [running("a", 1, "a0"), *(pending("a", 1, f"a-next{number}") for number in range(4))]
    assert evictions(decide(world_of(EQUAL, small_ones, job))) == []
    assert evictions(decide(world_of(EQUAL, small_ones, replace(job, turn=None)))) == ["large Reclaim for a-next0"]


def test_what_siblings_have_beyond_their_own_runtime_is_reclaimed_for_it() -> None:
    tree = "root 6\n  a 0 w1\n  b 0 w1\n  c 0 w1"
    decided = decide(world_of(tree, small(count=6), large(amount=4), large("later", 4, "c", created=after(-7000))))
    assert evictions(decided) == [f"a{number} Reclaim for large" for number in (5, 4, 3, 2)]


def test_turn_of_another_leaves_a_group_the_mins_of_its_children_though_its_own_min_is_in_use() -> None:
    """The min of p is used by what p2 holds beyond its own min; p1 gets its min from what p has by weight."""
    groups = "root 8\n  b 0 w2\n  p 1 w2\n    p1 1 w1\n    p2 0 w0\n  c 0 w1"
    work = [running("p2", 1, "kept", preemptible=False), pending("p1", 1, "next"), running("c", 1, "c0")]
    numbers = measure(world_of(groups, work, holding(large(amount=6))), NOW).numbers
    assert {name: numbers[name][KEY].runtime for name in ("b", "p", "p1", "p2", "c")} == {
        "b": 6, "p": 2, "p1": 1, "p2": 1, "c": 0
    }  # fmt: skip


def test_turn_does_not_make_an_idle_group_keep_more_than_is_counted_above_it() -> None:
    """p has 4 without the turn below it, and 7 with it: a has 3 then, in place of 1. Of 10, b uses 3 and q 6."""
    groups = "root 10\n  p 4 w1\n    a 3 l0\n    b 1\n  q 0 w99"
    work = [running("b", 3, "kept", preemptible=False), *(running("q", 1, f"q{number}") for number in range(6))]
    world = world_of(groups, work, pending("q", 9, "more"), holding(large(amount=1)), pending("a", 2, "next"))
    numbers = measure(world, NOW).numbers
    assert {name: (numbers[name][KEY].runtime, numbers[name][KEY].charge) for name in ("p", "a")} == {
        "p": (7, 4), "a": (3, 0)
    }  # fmt: skip
    decided = decide(world)
    assert (starts(decided), evictions(decided)) == ([], ["q5 Reclaim for next"])


@pytest.mark.parametrize(
    ("own", "without"),
    [
        pytest.param([], {"q": 7, "i": 2, "r": 11}, id="without a turn of their own"),
        pytest.param(
            [holding(large(amount=6, leaf="i"))],
            {"q": 9, "i": 4, "r": 9},
            id="with one for which too little is left",
        ),
    ],
)
def test_turn_of_another_leaves_mins_two_levels_below_what_it_takes_from(
    own: list[Workload], without: dict[str, int]
) -> None:
    """p has enough for all mins below it; what n holds beyond its own must not be at the cost of i."""
    groups = "root 20\n  h 0 w1\n  p 6 w5\n    q 6 w3\n      n 0 w1\n      i 2 w1\n    r 0 w9"
    work = [running("n", 5, "kept", preemptible=False), pending("i", 2, "next"), *small("r", 8)]
    snapshot = measure(world_of(groups, work, own, holding(large("first", 11, "h"), after(-1))), NOW)
    before, after_turns = (
        {name: numbers[name][KEY].runtime for name in ("h", "p", "q", "n", "i", "r")}
        for numbers in (snapshot.before_turns.numbers, snapshot.numbers)
    )
    assert before == {"h": 2, "p": 18, "n": 5, **without}
    assert after_turns == {"h": 11, "p": 9, "q": 7, "n": 5, "i": 2, "r": 2}


@pytest.mark.parametrize(
    ("case", "job", "tree", "fields"),
    [
        ("its patience is not over", large(created=after(-10)), EQUAL, {}),
        ("patience has no end", large(), EQUAL, {"queueing_patience": None}),
        ("the mins leave too little", large(), "root 4\n  a 2 w1\n  b 0 w1", {}),
        ("its ceiling is too low", large(), "root 4\n  a 0 w1\n  b ..2 w1", {}),
        ("it has weight 0", large(), "root 4\n  a 0 w1\n  b 0 w0", {}),
        ("it is not preemptible", large(preemptible=False), EQUAL, {}),
        ("its owner holds it", large(hold=True), EQUAL, {}),
        ("its group is stopped", large(), "root 4\n  a 0 w1\n  b 0 w1 hold", {}),
        ("its group has enough", large(amount=2), EQUAL, {}),
    ],
)
def test_no_turn(case: str, job: Workload, tree: str, fields: dict[str, Any]) -> None:
    assert turns(decide(world_of(tree, small(), job, **fields))) == [], case


def test_job_gets_a_turn_for_exactly_what_the_mins_of_others_leave() -> None:
    assert turns(decide(world_of("root 4\n  a 1 w1\n  b 0 w1", small(), large(amount=3)))) == ["large"]
    assert turns(decide(world_of("root 4\n  a 1 w1\n  b 0 w1", small(), large(amount=4)))) == []


def test_group_of_weight_0_with_too_low_a_ceiling_has_no_turn_before_one_that_competes() -> None:
    kept = running("b", 2, "kept", preemptible=False)
    assert turns(decide(world_of("root 6\n  a 0 w1\n  b ..4 w0", small(), kept, large()))) == []


def test_turn_alone_is_a_change() -> None:
    drawn = world_of(EQUAL, small(), large())
    first = decide(drawn)
    assert (turns(first), starts(first), evictions(first), first.is_idle) == (["large"], [], [], False)
    assert decide(advance(drawn, first)).is_idle


def test_group_that_has_used_less_comes_first() -> None:
    assert turns(decide(world_of(EQUAL, small(), large(), past={"a": 10, "b": 11}))) == []
    assert turns(decide(world_of("root 4\n  a 0 w1\n  b 0 w2", small(), large(), past={"a": 10, "b": 19}))) == ["large"]


def test_without_past_use_the_longest_waiting_comes_first() -> None:
    older = pending("a", 1, "older", created=after(-9000))
    assert turns(decide(world_of(EQUAL, small(), large(), past={"a": 0}))) == ["large"]
    assert turns(decide(world_of(EQUAL, small(), older, large(), past={"a": 0}))) == []


def test_one_turn_at_a_time_for_each_parent_and_key() -> None:
    tree = "root 6\n  a 0 w1\n  b 0 w1\n  c 0 w1"
    others = [large(amount=5), large("other", 5, "c", created=after(-7000))]
    world = world_of(tree, small(count=6), others, past={"a": 10})
    first = decide(world)
    assert turns(first) == ["large"]
    assert turns(decide(advance(world, first))) == []


def test_strict_leaf_takes_its_turn_after_the_patience() -> None:
    tree = "root 4\n  a 0 w1\n  b 0 w1 strict"
    assert turns(decide(world_of(tree, small(), large()))) == ["large"]
    assert turns(decide(world_of(tree, small(), large(created=after(-10))))) == []


def test_end_of_patience_causes_a_cycle() -> None:
    decided = decide(world_of(EQUAL, small(), large(created=after(-3000))))
    assert decided.next_turn == after(600)


def test_turn_counts_in_the_flavor_in_which_it_can_be_had() -> None:
    tree = "root ..4 | y:gpu ..4\n  a x:gpu 3 | y:gpu 0 w1\n  b x:gpu 0 | y:gpu 0 w1"
    tree = "root x:gpu ..4 | y:gpu ..4\n  a x:gpu 3 | y:gpu 0 w1\n  b x:gpu 0 | y:gpu 0 w1"
    busy = [running("a", 1, f"{flavor}{number}", flavor) for flavor in "xy" for number in range(4)]
    more = [pending("a", 1, f"more{number}") for number in range(9)]
    world = world_of(tree, busy, more, large(), flavors=(Flavor("x"), Flavor("y")))
    decided = decide(world)
    assert [each.turn.flavors for each in decided.turns_begun] == [in_main({GPU: "y"})]


@pytest.mark.parametrize("free", ["y", ""])
def test_holder_starts_in_a_later_flavor_rather_than_wait_for_work_to_end(free: str) -> None:
    both = tree("root x:gpu ..4 | y:gpu ..4\n  a x:gpu 0 w1 | y:gpu 0 w1\n  b x:gpu 0 w1 | y:gpu 0 w1")
    prefers_reclaim = replace(both["b"], when_can_reclaim=WhenCanReclaim.RECLAIM)
    groups = both.with_group(prefers_reclaim)
    busy = [running("a", 1, f"{flavor}{number}", flavor) for flavor in "xy" if flavor != free for number in range(4)]
    more = [pending("a", 1, f"more{number}", only_flavor="x") for number in range(4)]
    job = holding(large(), flavor="x")
    decided = decide(world_of(groups, busy, more, job, flavors=(Flavor("x"), Flavor("y"))))
    assert (starts(decided), evictions(decided)) == (["large entitled y"] if free else [], [])
    assert waits(decided).get("large") == (None if free else "RoomDelayed")


def test_room_is_kept_for_the_holder_where_another_borrows_what_it_would_have_borrowed() -> None:
    """`sooner` takes half of y, which the holder would rather borrow than wait for x."""
    both = tree("root x:gpu ..4 | y:gpu ..4\n  a x:gpu 0 w1 | y:gpu 0 w3\n  b x:gpu 0 w1 | y:gpu 0 w0\n  c y:gpu 0 w1")
    borrows = replace(both["b"], when_can_reclaim=WhenCanReclaim.RECLAIM, when_can_borrow=WhenCanBorrow.BORROW)
    groups = both.with_group(borrows)
    busy = [running("a", 1, f"x{number}", "x") for number in range(4)]
    more = [pending("a", 1, f"more{number}", only_flavor="x") for number in range(4)]
    sooner = pending("c", 2, "sooner", only_flavor="y", created=after(-60))
    work = [*busy, *more, pending("a", 4, "wide", only_flavor="y"), sooner, holding(large(created=NOW), flavor="x")]
    decided = decide(world_of(groups, work, flavors=(Flavor("x"), Flavor("y"))))
    assert (starts(decided), waits(decided)["large"]) == (["sooner opportunistic y"], "RoomDelayed")


def test_mins_are_taken_back_from_siblings_before_the_holder() -> None:
    tree = "root 6\n  a 0 w1\n  b 0 w1\n  m 2 w1"
    job = replace(holding(large(amount=4)), admission=running("b", 4).admission)
    busy = [running("a", 1, f"a{number}") for number in range(2)]
    world = world_of(tree, busy, [pending("a", 1, "a-next")], job, [pending("m", 2, "owed")])
    decided = decide(world)
    assert evictions(decided) == ["a1 Reclaim for owed", "a0 Reclaim for owed"]


def test_min_is_taken_back_where_the_turn_of_its_sibling_uses_the_min_of_their_parent() -> None:
    """Without the turn of b, c would keep its 1, and b would have to give a its min."""
    groups = "root 3\n  p 2 w1\n    a 1 w1\n    b 1 w1\n  c 0 w1"
    turn_of_b = replace(holding(large(amount=2)), admission=running("b", 2).admission)
    decided = decide(world_of(groups, turn_of_b, running("c", 1, "borrows"), pending("a", 1, "owed")))
    assert evictions(decided) == ["borrows Reclaim for owed"]


def test_min_is_taken_back_after_the_grace_period_from_a_sibling_that_a_turn_alone_puts_over() -> None:
    groups = "root 4\n  a 0 w1\n  b 0 w1\n  m 1 w1\n  o 1 w1"
    busy = [running("a", 1, "a0"), running("b", 2, "b0"), running("o", 1, "o0")]
    waiting = [holding(large(amount=2)), pending("m", 1, "owed")]
    world = world_of(groups, busy, waiting, grace_period=timedelta(minutes=5))
    decided = decide(world)
    assert (evictions(decided), decided.wake_at) == ([], after(300))
    later = replace(world, over_since=decided.over_since)
    assert evictions(decide(later, after(300))) == ["a0 Reclaim for owed"]


def test_turn_ends_where_the_mins_need_its_room() -> None:
    tree = "root 4\n  a 0 w1\n  b 0 w1\n  m 2 w1"
    waiting = holding(large())
    decided = decide(world_of(tree, small(), waiting, [pending("m", 2, "owed")]))
    assert [each.key for each in decided.turns_ended] == ["ns/large"]
    run = replace(waiting, admission=running("b", 3).admission)
    decided = decide(world_of(tree, [running("a", 1, "a0")], run, [pending("m", 2, "owed")]))
    assert evictions(decided) == ["large Reclaim for owed"]


@pytest.mark.parametrize(
    "changed",
    [
        {"hold": True},
        {"queued": after(60)},
        {"not_before": after(600)},
        {"priority": -1},
    ],
)
def test_turn_ends_when_its_holder_is_the_head_no_more(changed: dict[str, Any]) -> None:
    other = pending("b", 1, "other", created=LONG_AGO)
    decided = decide(world_of(EQUAL, small(), replace(holding(large()), **changed), other))
    assert [each.key for each in decided.turns_ended] == ["ns/large"]


def test_workload_whose_turn_ends_starts_without_it() -> None:
    first = pending("b", 1, "first", priority=1)
    decided = decide(world_of(EQUAL, holding(large()), first))
    assert [each.key for each in decided.turns_ended] == ["ns/large"]
    assert [(each.workload.uid, each.workload.turn) for each in decided.starts] == [("first", None), ("large", None)]


def test_turn_is_gone_with_its_holder() -> None:
    world = world_of(EQUAL, small(), holding(large()))
    assert measure(world, NOW).numbers["a"][KEY].runtime == 1
    assert measure(end(world, "large"), NOW).numbers["a"][KEY].runtime == 4


def test_evicted_holder_has_no_turn_any_more() -> None:
    run = replace(holding(large()), admission=running("b", 3).admission)
    world = world_of(EQUAL, [running("a", 1, "a0")], run)
    stopped = replace(world.tree["b"], stop_policy=StopPolicy.HOLD_AND_DRAIN)
    world = replace(world, tree=world.tree.with_group(stopped))
    after_it = carry_out(world, decide(world))
    assert [each.turn for each in after_it.workloads_of("b").by_id.values()] == [None]


def test_nobody_borrows_what_is_left_for_the_holder() -> None:
    world = world_of(EQUAL, small(), holding(large()))
    decided = decide(end(world, "a0", "a1"))
    assert starts(decided) == []
    assert message_of(decided, "ns/large").endswith(f"; its turn began at {NOW.isoformat()}")


@pytest.mark.parametrize(
    ("tree", "past", "created", "sentence"),
    [
        ("root 4\n  a 2 w1\n  b 0 w1", {}, LONG_AGO, "has no turn: the mins leave 2, it requests 3"),
        (EQUAL, {"a": 10, "b": 11}, LONG_AGO, "has no turn yet: group 'a' has used less in proportion to its weight"),
        (EQUAL, {}, after(-3000), "could have a turn at 2026-01-01T00:10:00+00:00, when its patience is over"),
        ("root 4\n  a 0 w1\n  b 0 w0", {}, LONG_AGO, "has no turn: group 'b' has weight 0"),
    ],
)
def test_explanation_says_why_there_is_no_turn(
    tree: str, past: dict[str, int], created: datetime, sentence: str
) -> None:
    decided = decide(world_of(tree, small(), large(created=created), past=past or {"a": 10}))
    assert message_of(decided, "ns/large").endswith(sentence)


def test_no_reason_is_given_why_the_holder_has_no_turn() -> None:
    job = holding(large())
    assert why_no_turn(measure(world_of(EQUAL, small(), job), NOW), job) is None


def test_sibling_starts_while_the_turn_rests() -> None:
    """Room for b's job gathers without end beside two of a that never end: a uses it every other day."""
    world = world_of(EQUAL, small(count=2), holding(large()))
    seen = []
    for hours in (0, 23, 24, 47, 48, 72):
        decided = decide(world, NOW + timedelta(hours=hours))
        about_turn = message_of(decided, "ns/large").split("; ")[-1].removesuffix(":00+00:00")
        seen.append(
            (starts(decided), evictions(decided), turns(decided), decided.turns_ended, about_turn, decided.next_turn)
        )
        world = advance(world, decided)
    counts, rests = f"its turn began at {NOW.isoformat()}".removesuffix(":00+00:00"), "its turn rests until 2026-01-0"
    assert seen == [
        ([], [], [], (), counts, NOW + timedelta(days=1)),
        ([], [], [], (), counts, NOW + timedelta(days=1)),
        (["a-next0 opportunistic", "a-next1 opportunistic"], [], [], (), f"{rests}3T00:00", NOW + timedelta(days=2)),
        ([], [], [], (), f"{rests}3T00:00", NOW + timedelta(days=2)),
        ([], [], [], (), counts, NOW + timedelta(days=3)),
        ([], [], [], (), f"{rests}5T00:00", NOW + timedelta(days=4)),
    ]


@pytest.mark.parametrize(
    ("waited", "hours", "runtime"),
    [
        pytest.param(timedelta(hours=2), 23, 3, id="counts for a day"),
        pytest.param(timedelta(hours=2), 24, 2, id="rests after a day"),
        pytest.param(timedelta(days=3), 71, 3, id="counts for as long as its workload had waited"),
        pytest.param(timedelta(days=3), 72, 2, id="rests after as long as its workload had waited"),
        pytest.param(timedelta(days=3), 144, 3, id="counts again after a rest of that length"),
        pytest.param(timedelta(hours=2), -1, 3, id="began in the future by the clock of another process"),
    ],
)
def test_turn_rests_after_it_has_gathered_room_for_long(waited: timedelta, hours: int, runtime: int) -> None:
    world = world_of(EQUAL, small(count=2), holding(large(created=NOW - waited)))
    assert measure(world, NOW + timedelta(hours=hours)).numbers["b"][KEY].runtime == runtime


def test_turn_of_a_running_job_does_not_rest() -> None:
    job = replace(holding(large()), admission=running("b", 3).admission)
    numbers = measure(world_of(EQUAL, small(count=1), job), NOW + timedelta(hours=30)).numbers
    assert numbers["b"][KEY].runtime == 3


def test_another_group_can_have_its_turn_while_one_rests() -> None:
    world = world_of("root 4\n  a 0 w1\n  b 0 w1\n  c 0 w1", small(count=2), holding(large()), large("other", 3, "c"))
    begun = [turns(decide(world, NOW + timedelta(hours=hours))) for hours in (23, 24)]
    assert begun == [[], ["other"]]
    world = advance(world, decide(world, NOW + timedelta(hours=24)))
    decided = decide(world, NOW + timedelta(hours=48))
    assert [each.key for each in decided.turns_ended] == ["ns/other"]


def test_levels_of_the_tree_at_which_it_falls_short() -> None:
    tree = "root 4\n  p/ 0 w1\n    p1 0 w1\n    p2 0 w1\n  q 0 w1"
    busy = [*small("q", 2), *small("p1", 2)]
    world = world_of(tree, busy, large(leaf="p2"), past={"p1": 10, "q": 10, "p": 9})
    decided = decide(world)
    assert turns(decided) == ["large"]
    found = measure(advance(world, decided), NOW)
    assert {parent for parent, _ in found.turns.slots} == {"p", "root"}
    numbers = found.numbers
    assert [numbers[name][KEY].runtime for name in ("p", "p1", "p2", "q")] == [3, 0, 3, 1]


@pytest.mark.parametrize(
    ("own", "begun"),
    [
        pytest.param(5, ["large"], id="its leaf has used no more than q for its part of the weight"),
        pytest.param(6, [], id="its leaf has used more"),
    ],
)
def test_siblings_that_use_what_the_subtree_has_keep_it_from_no_turn(own: int, begun: list[str]) -> None:
    tree = "root 4\n  p/ 0 w1\n    p1 0 w1\n    p2 0 w1\n  q 0 w1"
    past = {"p1": 20, "p2": own, "p": 20 + own, "q": 10}
    decided = decide(world_of(tree, small("q", 2), small("p1", 2), large(leaf="p2"), past=past))
    assert turns(decided) == begun
    if not begun:
        assert "group 'q' has used less in proportion to its weight" in message_of(decided, "ns/large")


def test_leaf_whose_siblings_want_nothing_stands_for_its_whole_subtree() -> None:
    tree = "root 4\n  p/ 0 w1\n    p1 0 w1\n    p2 ..2 w1\n    p3 0 w1\n  q 0 w1"
    past = {"p2": 8, "p": 8, "q": 10}
    assert turns(decide(world_of(tree, small("q", 4), large(leaf="p3", amount=3), past={**past, "p3": 8}))) == ["large"]


def test_patience_of_a_minute_is_a_minute() -> None:
    world = world_of(EQUAL, small(), large(created=after(-59)), queueing_patience=timedelta(minutes=1))
    assert turns(decide(world)) == []
    assert turns(decide(world, after(1))) == ["large"]
