"""Courses: what adds up over time is exact, and does not depend on how the time is split."""

from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from shared.quota.measure.accounts.courses import Course, UseAreas, lent_areas, use_areas

NONE = Course.of(0, ())
Pairs = dict[tuple[str, str], Fraction]
"""(borrower, lender) → amount."""


def test_areas_by_hand() -> None:
    course = Course.of(2, [(1_000, 3), (3_000, -4)], minimum=3)
    assert use_areas(course, 0, 5_000) == UseAreas(2 * 1_000 + 5 * 2_000 + 1 * 2_000, 2 * 2_000)


def test_lent_is_dealt_in_proportion_to_what_is_idle() -> None:
    siblings = {"a": Course.of(13, (), 6), "b": Course.of(1, (), 5), "c": Course.of(0, (), 10, 2)}
    assert lent_areas(siblings, NONE, 0, 10).lent == {"b": 20, "c": 50}  # 7 borrowed: of 4 idle 2.33, of 8 idle 4.67
    assert lent_areas({"a": Course.of(90, ()), "b": Course.of(1, (), 5)}, NONE, 0, 10).lent == {"b": 40}
    assert lent_areas({"a": Course.of(6, (), 6), "b": Course.of(1, (), 5)}, NONE, 0, 10) == ({}, {})


def test_what_the_parent_has_beside_the_mins_is_borrowed_first() -> None:
    siblings = {"a": Course.of(1, (), 4), "b": Course.of(4, (), 2)}
    assert lent_areas(siblings, Course.of(7, ((5, -1), (8, -6)), 6), 0, 10).lent == {"a": 5 * 1 + 5 * 2}
    assert lent_areas(siblings, Course.of(9, ()), 0, 10) == ({}, {})


def random_course(dice: Random) -> Course:
    changes: list[tuple[int, int]] = []
    for _ in range(dice.randint(0, 8)):
        begin, amount = dice.randint(0, 100), dice.randint(1, 9)
        changes += [(begin, amount), (begin + dice.randint(0, 40), -amount)]
    return Course.of(dice.choice((0, 0, 3)), changes, dice.randint(0, 12), dice.randint(0, 3))


@pytest.mark.parametrize("seed", range(200))
def test_every_split_of_the_time_gives_the_same_sums(seed: int) -> None:
    dice = Random(seed)
    siblings = {name: random_course(dice) for name in "abcd"}
    cuts = sorted({0, 150, *(dice.randint(0, 150) for _ in range(dice.randint(0, 6)))})
    for course in siblings.values():
        parts = [use_areas(course, *each) for each in pairwise(cuts)]
        summed = UseAreas(sum(each.used for each in parts), sum(each.borrowed for each in parts))
        assert summed == use_areas(course, 0, 150)
    above = random_course(dice)
    lent = lent_areas(siblings, above, 0, 150)
    parted = [lent_areas(siblings, above, *each) for each in pairwise(cuts)]
    for name in siblings:
        assert sum(each.lent.get(name, 0) for each in parted) == lent.lent.get(name, 0)
    for pair in lent.taken:
        assert sum(each.taken.get(pair, 0) for each in parted) == lent.taken[pair]


def test_what_is_lent_is_dealt_in_proportion_to_what_is_borrowed() -> None:
    """b lends 3 and c 6; a borrows 6 and d 3: b's are dealt 2 to 1, then c's by what is left, 4 to 2."""
    siblings = {"a": Course.of(8, (), 2), "b": Course.of(0, (), 3), "c": Course.of(0, (), 6), "d": Course.of(3, ())}
    taken = {("a", "b"): 20, ("d", "b"): 10, ("a", "c"): 40, ("d", "c"): 20}
    assert lent_areas(siblings, NONE, 0, 10) == ({"b": 30, "c": 60}, taken)


def taken_by_definition(siblings: dict[str, Course], above: Course, time: int) -> tuple[dict[str, int], Pairs]:
    """What each lent at one moment, and to whom, in fractions: the parts are these, rounded up or down."""
    levels = {n: c.level + sum(d for at, d in c.changes if at <= time) for n, c in siblings.items()}
    over = {n: max(0, levels[n] - c.min) for n, c in siblings.items()}
    lent = lent_areas(siblings, above, time, time + 1).lent
    exact: Pairs = {}
    left = {n: Fraction(amount) for n, amount in over.items()}
    for lender in sorted(lent):
        total = sum(left.values())
        for borrower, amount in left.items():
            exact[borrower, lender] = amount * lent[lender] / total if lent[lender] else Fraction(0)
        left = {n: left[n] - exact[n, lender] for n in left}
    return over, exact


@pytest.mark.parametrize("seed", range(100))
def test_what_is_taken_is_what_each_lent_and_no_more_than_each_borrowed(seed: int) -> None:
    dice = Random(seed)
    siblings = {name: random_course(dice) for name in "abcd"}
    above = random_course(dice)
    for time in range(0, 150, 3):
        lent, taken = lent_areas(siblings, above, time, time + 1)
        over, exact = taken_by_definition(siblings, above, time)
        for lender, amount in lent.items():
            assert sum(part for (_, whose), part in taken.items() if whose == lender) == amount
        for borrower, amount in over.items():
            assert sum(part for (who, _), part in taken.items() if who == borrower) <= amount
        assert all(abs(taken.get(pair, 0) - part) < 2 for pair, part in exact.items())
        assert all(part > 0 for part in taken.values())


@pytest.mark.parametrize("seed", range(100))
def test_sums_equal_those_of_every_single_millisecond(seed: int) -> None:
    dice = Random(seed)
    siblings = {name: random_course(dice) for name in "abc"}
    parent = random_course(dice)
    lent = lent_areas(siblings, parent, 10, 120).lent
    borrowed = lent_total = 0
    for time in range(10, 120):
        levels = {n: c.level + sum(d for at, d in c.changes if at <= time) for n, c in siblings.items()}
        above = sum(max(0, levels[n] - c.min) for n, c in siblings.items())
        idle = sum(max(0, c.min - max(levels[n], c.guarantee)) for n, c in siblings.items())
        borrowed += above
        had = max(parent.min, parent.level + sum(d for at, d in parent.changes if at <= time))
        beside = max(0, had - sum(c.min for c in siblings.values()))
        lent_total += min(max(0, above - beside), idle)
    assert borrowed == sum(use_areas(course, 10, 120).borrowed for course in siblings.values())
    assert lent_total == sum(lent.values())
