"""Past use: what is added, how it decays, and that parents have the sum of their children's."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from shared.quota.measure.inputs.past_use import UseHistory, decayed, roots_of_half
from shared.quota.measure.inputs.world import World
from tests.builders import NOW, after, running, world
from tests.trees import KEY

HOUR = timedelta(hours=1)
TREE = "root 8\n  p ..8\n    a ..8\n    b ..8\n  c ..8"


def shares(history: UseHistory, group: str) -> int:
    return history.amounts.get(group, {}).get(KEY, 0)


@pytest.mark.parametrize(
    ("elapsed", "left"),
    [
        (0, 1_000_000),
        (3600, 500_000),
        (7200, 250_000),
        (1800, 707_106),
        (360, 933_032),
        (36_000, 976),
        (-60, 1_000_000),
    ],
)
def test_amount_halves_in_each_half_life(elapsed: int, left: int) -> None:
    assert abs(decayed(1_000_000, timedelta(seconds=elapsed), HOUR) - left) <= 1


def test_half_of_a_half_life_is_one_root() -> None:
    assert decayed(1 << 64, HOUR / 2, HOUR) == roots_of_half()[0]


def test_each_root_is_that_of_the_one_before() -> None:
    half = 1 << 63
    for root, square in zip(roots_of_half(), (half, *roots_of_half()), strict=False):
        assert root**2 <= square << 64 < (root + 1) ** 2


def test_what_was_used_is_added_in_unit_milliseconds_and_summed_at_the_parents() -> None:
    found = world(TREE, [running("a", 2, "x"), running("b", 1, "y"), running("c", 4, "z")])
    history = UseHistory(HOUR).after(found, NOW)
    assert shares(history, "a") == 0
    history = history.after(found.with_changes([(running("a", 2, "x"), None), (running("b", 1, "y"), None)]), after(30))
    ratios = [shares(history, group) / shares(history, "b") for group in ("a", "b", "p", "root")]
    assert ratios == pytest.approx([2, 1, 3, 3], rel=1e-3)
    assert shares(history, "b") == decayed(30_000, history.as_of - after(30), HOUR)  # type: ignore[operator]
    assert shares(history, "c") == 0  # still runs; it is added when its use changes, or at the next `as_of`
    assert shares(history.after(found, after(61)), "c") > 0


def test_use_of_system_is_not_remembered() -> None:
    """Nothing is shared with it."""
    busy = world(f"{TREE}\n  system", [running("system", 2, "daemon"), running("a", 1, "x")])
    history = UseHistory(HOUR).after(busy, NOW).after(world(f"{TREE}\n  system"), after(600))
    assert (shares(history, "system"), shares(history, "root") == shares(history, "a") > 0) == (0, True)


def test_past_use_decays_with_the_half_life() -> None:
    busy = world(TREE, [running("a", 1, "x")])
    history = UseHistory(HOUR).after(busy, NOW).after(world(TREE), after(600))
    fresh = shares(history, "a")
    for minute in range(1, 121):
        history = history.after(world(TREE), after(600 + 60 * minute))
    assert shares(history, "a") == pytest.approx(fresh / 4, rel=0.02)


def test_no_half_life_keeps_nothing() -> None:
    history = UseHistory(timedelta()).after(world(TREE, [running("a", 1, "x")]), NOW)
    assert history.after(world(TREE), after(60)).amounts == {}


def test_moved_leaf_keeps_its_past_use() -> None:
    found = world(TREE, [running("a", 1, "x")])
    history = UseHistory(HOUR).after(found, NOW).after(found, after(100))
    moved = replace(found, tree=found.tree.with_group(replace(found.tree["a"], parent="root")))
    history = history.after(moved, after(100))
    assert (shares(history, "p"), shares(history, "a") > 0) == (0, True)
    assert shares(history, "root") == shares(history, "a")


@pytest.mark.parametrize("seed", range(5))
def test_incremental_sums_equal_the_sums_of_the_intervals(seed: int) -> None:
    """Against the sum over all intervals of use and time, each decayed to the end."""
    dice = Random(seed)
    found, history, now = world(TREE), UseHistory(HOUR), NOW
    expected = dict.fromkeys(("a", "b", "c"), 0.0)
    using: dict[str, int] = dict.fromkeys(expected, 0)
    history = history.after(found, now)
    for _ in range(200):
        seconds = dice.randint(1, 40)
        for leaf in expected:
            expected[leaf] = (expected[leaf] + using[leaf] * seconds * 1000) * 0.5 ** (seconds / 3600)
        now += timedelta(seconds=seconds)
        leaf, number = dice.choice("abc"), dice.randint(0, 3)
        found = _using(found, leaf, number)
        using[leaf] = number
        history = history.after(found, now)
    history = history.after(found, history.as_of or now)
    late = history.as_of or now
    at = late - timedelta(minutes=1)
    for leaf, amount in expected.items():
        whole = amount + using[leaf] * ((at - now) / timedelta(milliseconds=1))
        assert shares(history, leaf) == pytest.approx(whole * 0.5 ** ((late - now) / HOUR), rel=0.02)
    assert shares(history, "p") == shares(history, "a") + shares(history, "b")


def _using(found: World, leaf: str, number: int) -> World:
    known = found.workloads_of(leaf).admitted
    return found.with_changes(
        [*((job, None) for job in known), *((None, running(leaf, 1, f"{leaf}{each}")) for each in range(number))]
    )
