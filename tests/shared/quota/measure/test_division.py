"""Dividing a parent's runtime: floors, shortage, what is left by weight; exact, and independent of order."""

from datetime import datetime
from itertools import islice, permutations
from random import Random

import pytest
from msgspec.structs import replace

from shared.quota.measure.fair_share import Sibling, divide, divide_in_steps
from shared.quota.measure.group_usage import Numbers
from shared.quota.model.amounts.largest_remainder import deal_round
from tests.builders import after


def child(
    name: str,
    least: int,
    demand: int,
    weight: int = 1,
    *,
    non_preemptible: int = 0,
    guarantee: int = 0,
    used: int = 0,
    past_use: int = 0,
    waiting_since: datetime | None = None,
) -> Sibling:
    demand = max(guarantee, demand)
    numbers = Numbers(
        min=least,
        weight=weight,
        guarantee=guarantee,
        non_preemptible=non_preemptible,
        demand=demand,
        used=used,
        waiting_since=waiting_since,
    )
    return Sibling(name, numbers, past_use)


CASES = {
    "the figures of the elastic quota proposal": (
        100,
        [child("a", 10, 5, 40), child("b", 15, 20, 60), child("c", 20, 40, 50), child("d", 15, 70, 80)],
        {"a": 5, "b": 20, "c": 35, "d": 40},
    ),
    "all demands fit": (10, [child("a", 2, 3), child("b", 2, 6)], {"a": 3, "b": 6}),
    "an idle guarantee is kept": (10, [child("a", 4, 0, guarantee=4), child("b", 2, 9)], {"a": 4, "b": 6}),
    "an idle min is lent": (10, [child("a", 8, 0), child("b", 2, 9)], {"a": 0, "b": 9}),
    "weight 0 gets nothing of what is left": (10, [child("a", 2, 9, weight=0), child("b", 2, 9)], {"a": 2, "b": 8}),
    "all of weight 0 leave the rest": (10, [child("a", 2, 9, weight=0), child("b", 2, 9, weight=0)], {"a": 2, "b": 2}),
    "the odd one goes to the first of equals": (7, [child("b", 0, 9), child("a", 0, 9)], {"a": 4, "b": 3}),
    "the odd one goes to the largest remainder": (
        10,
        [child("a", 0, 99, 1), child("b", 0, 99, 2)],
        {"a": 3, "b": 7},
    ),
    "what one is cut, others share": (
        10,
        [child("a", 0, 1, 8), child("b", 0, 99, 1), child("c", 0, 99, 1)],
        {"a": 1, "b": 5, "c": 4},
    ),
    "short: in proportion to min": (50, [child("a", 40, 40), child("b", 40, 40)], {"a": 25, "b": 25}),
    "short: never beyond the floor": (30, [child("a", 40, 5), child("b", 40, 40)], {"a": 5, "b": 25}),
    "short: a guarantee is cut like any min": (
        50,
        [child("a", 40, 0, guarantee=40), child("b", 40, 50)],
        {"a": 25, "b": 25},
    ),
    "short: who holds more than its share keeps it": (
        30,
        [child("a", 20, 20, non_preemptible=18), child("b", 20, 20), child("c", 20, 20)],
        {"a": 18, "b": 6, "c": 6},
    ),
    "short: a share above what is held is not cut to it": (
        18,
        [child("b", 10, 10, non_preemptible=8), child("c", 10, 10)],
        {"b": 9, "c": 9},
    ),
    "short: keepers make the others' shares smaller, which makes new keepers": (
        30,
        [child("a", 10, 30, non_preemptible=22), child("b", 10, 10, non_preemptible=5), child("c", 10, 10)],
        {"a": 22, "b": 5, "c": 3},
    ),
    "short: held without min is kept": (5, [child("a", 0, 9, non_preemptible=3), child("b", 9, 9)], {"a": 3, "b": 2}),
    "more held than there is": (
        5,
        [child("a", 4, 4, non_preemptible=4), child("b", 4, 4, non_preemptible=3)],
        {"a": 4, "b": 3},
    ),
    "what is held above demand is a floor": (
        10,
        [child("a", 2, 4, non_preemptible=6), child("b", 2, 9)],
        {"a": 6, "b": 4},
    ),
    "the odd one stays where it is in use": (7, [child("a", 0, 9), child("b", 0, 9, used=4)], {"a": 3, "b": 4}),
    "use of the whole part needs no odd one": (7, [child("a", 0, 9), child("b", 0, 9, used=3)], {"a": 4, "b": 3}),
    "the odd one goes to the least past use": (7, [child("a", 0, 9, past_use=2), child("b", 0, 9)], {"a": 3, "b": 4}),
    "in use counts more than little past use": (
        7,
        [child("a", 0, 9), child("b", 0, 9, used=4, past_use=50)],
        {"a": 3, "b": 4},
    ),
    "past use counts in proportion to weight": (
        10,
        [child("a", 0, 99, 1, past_use=5), child("b", 0, 99, 2, past_use=11)],
        {"a": 4, "b": 6},
    ),
    "equal past use in proportion to weight: the largest remainder": (
        10,
        [child("a", 0, 99, 1, past_use=5), child("b", 0, 99, 2, past_use=10)],
        {"a": 3, "b": 7},
    ),
    "the longest waiting of equals": (
        7,
        [child("a", 0, 9, waiting_since=after(5)), child("b", 0, 9, waiting_since=after(1))],
        {"a": 3, "b": 4},
    ),
    "who waits comes before who does not": (
        7,
        [child("a", 0, 9), child("b", 0, 9, waiting_since=after(1))],
        {"a": 3, "b": 4},
    ),
    "short: the odd one goes to the least past use in proportion to min": (
        1,
        [child("a", 1, 1, past_use=3), child("b", 2, 2, past_use=5)],
        {"a": 0, "b": 1},
    ),
    "the last of twelve gets its turn": (
        6,
        [
            *(child(f"l{index:02}", 0, 9, used=1, past_use=60) for index in range(1, 6)),
            child("l00", 0, 9, past_use=60),
            *(child(f"l{index:02}", 0, 9, past_use=100 - index) for index in range(6, 11)),
            child("l11", 0, 9, past_use=1),
        ],
        {**dict.fromkeys(["l00", *(f"l{index:02}" for index in range(6, 11))], 0)}
        | dict.fromkeys([*(f"l{index:02}" for index in range(1, 6)), "l11"], 1),
    ),
    "nothing to divide": (0, [child("a", 4, 4), child("b", 4, 4)], {"a": 0, "b": 0}),
    "nobody to divide among": (7, [], {}),
    "amounts beyond 64 bits": (
        3 * 2**70 + 1,
        [child("a", 0, 2**80, 1), child("b", 0, 2**80, 2)],
        {"a": 2**70, "b": 2**71 + 1},
    ),
}


@pytest.mark.parametrize(("runtime", "siblings", "expected"), CASES.values(), ids=CASES)
def test_runtime_is_divided_as_expected(runtime: int, siblings: list[Sibling], expected: dict[str, int]) -> None:
    assert divide(runtime, siblings) == expected


def test_order_of_siblings_does_not_change_the_division() -> None:
    for runtime, siblings, expected in CASES.values():
        for shuffled in islice(permutations(siblings), 150):
            assert divide(runtime, shuffled) == expected


def test_division_distributes_everything_within_one_unit_of_the_exact_share() -> None:
    dice = Random(3)
    for _ in range(500):
        weights = [dice.randint(0, 9) for _ in range(dice.randint(1, 6))]
        weights[0] += 1
        pool = dice.randint(0, 50)
        dealt = deal_round(pool, weights)
        assert sum(dealt) == pool
        assert all(
            abs(share * sum(weights) - pool * weight) < sum(weights)
            for share, weight in zip(dealt, weights, strict=True)
        )


def random_siblings(dice: Random) -> list[Sibling]:
    return [
        child(
            f"s{index}",
            least := dice.choice((0, 3, 10, 25)),
            dice.randint(0, 40),
            weight=dice.choice((0, 1, 2, 5)),
            non_preemptible=dice.choice((0, 0, 0, 4, 12)),
            guarantee=dice.choice((0, least // 2, least)),
        )
        for index in range(dice.randint(1, 6))
    ]


def test_share_is_between_floor_and_demand_and_nothing_is_left_while_demand_remains() -> None:
    dice = Random(5)
    for _ in range(3000):
        siblings, runtime = random_siblings(dice), dice.randint(0, 120)
        shares = divide(runtime, siblings)
        for each in siblings:
            assert each.numbers.non_preemptible <= shares[each.name] <= max(each.numbers.floor, each.numbers.demand)
        assert sum(shares.values()) <= max(runtime, sum(each.numbers.non_preemptible for each in siblings))
        hungry = [each for each in siblings if shares[each.name] < each.numbers.demand and each.numbers.weight]
        short = [each for each in siblings if shares[each.name] < each.numbers.floor and each.numbers.min]
        if hungry or short:
            assert sum(shares.values()) >= runtime


def test_shortage_is_shared_in_proportion_within_rounding() -> None:
    """The shares are clamp(level * min, held, floor) for one level, less than one off each."""
    dice = Random(7)
    for _ in range(1000):
        siblings = random_siblings(dice)
        runtime = dice.randint(0, 60)
        if (
            not sum(each.numbers.non_preemptible for each in siblings)
            <= runtime
            < sum(each.numbers.floor for each in siblings)
        ):
            continue
        shares = divide(runtime, siblings)
        free = [each for each in siblings if each.numbers.non_preemptible < shares[each.name] < each.numbers.floor]
        for one in free:
            for other in free:
                gap = shares[one.name] * other.numbers.min - shares[other.name] * one.numbers.min
                assert abs(gap) <= len(siblings) * max(one.numbers.min, other.numbers.min)


def test_larger_runtime_takes_at_most_a_rounding_unit_from_any_sibling() -> None:
    dice = Random(11)
    for _ in range(3000):
        siblings, runtime = random_siblings(dice), dice.randint(0, 120)
        less = divide(runtime, siblings)
        more = divide(runtime + dice.randint(1, 9), siblings)
        assert all(less[name] - more[name] <= 1 for name in less)
        assert sum(less.values()) <= sum(more.values())


def test_use_of_now_and_of_the_past_moves_only_units_that_remain() -> None:
    dice = Random(13)
    for _ in range(2000):
        siblings, runtime = random_siblings(dice), dice.randint(0, 120)
        turned = [
            Sibling(each.name, replace(each.numbers, used=dice.randint(0, 30)), dice.randint(0, 9)) for each in siblings
        ]
        some, other = divide(runtime, siblings), divide(runtime, turned)
        assert sum(some.values()) == sum(other.values())
        assert all(abs(some[name] - other[name]) <= len(siblings) for name in some)


@pytest.mark.parametrize(("runtime", "short"), [(5, True), (6, False), (7, False)])
def test_division_is_short_only_when_floors_exceed_the_runtime(runtime: int, short: bool) -> None:
    siblings = [Sibling(name, Numbers(min=3, weight=1, demand=9)) for name in ("a", "b")]
    steps = divide_in_steps(runtime, siblings)
    assert (steps.short, sum(steps.first.values()) + sum(sum(each.values()) for each in steps.rounds)) == (
        short,
        runtime,
    )


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(3, {"a": 2, "b": 3}, id="the floor of a leaves so much"),
        pytest.param(4, {"a": 4, "b": 1}, id="the floor of a leaves less"),
    ],
)
def test_turn_counts_only_where_the_floors_of_the_others_leave_what_it_needs(
    turn: int, expected: dict[str, int]
) -> None:
    """docs/specification.md §6.11."""
    assert divide(5, [child("a", 2, 9), child("b", 0, 9)._replace(turn=turn)]) == expected
