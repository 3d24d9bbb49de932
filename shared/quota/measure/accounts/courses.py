"""How an amount changes over time, and what of it adds up to amounts times milliseconds, exactly.

A course's areas over [a, b) and [b, c) add up to that over [a, c): every split of the time gives the same sums.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from shared.resources import Amount, FlavorResource


class Course(NamedTuple):
    """What one group uses of one key: `level` before the first change, then the changes in order of time.

    `min` and `guarantee` are those of the group.
    """

    level: Amount
    changes: tuple[tuple[int, Amount], ...]
    """(milliseconds since 1970, by how much)."""
    min: Amount = 0
    guarantee: Amount = 0

    @staticmethod
    def of(level: Amount, changes: Iterable[tuple[int, Amount]], minimum: Amount = 0, kept: Amount = 0) -> "Course":
        """Build a course from changes in any order; those at one moment count together."""
        by_time: dict[int, Amount] = {}
        for time, delta in changes:
            by_time[time] = by_time.get(time, 0) + delta
        return Course(level, tuple(sorted(each for each in by_time.items() if each[1])), minimum, kept)

    @property
    def peak(self) -> Amount:
        """The most that is used at any moment."""
        level = most = self.level
        for _, delta in self.changes:
            level += delta
            most = max(most, level)
        return most

    def pieces(self, since: int, until: int) -> Iterator[tuple[int, int, Amount]]:
        """Yield (from, to, amount) for each part of [since, until) in which the amount stays the same."""
        level = self.level
        for time, delta in self.changes:
            if since < time < until:
                yield since, time, level
                since = time
            if time < until:
                level += delta
        if since < until:
            yield since, until, level


GroupCourses = Mapping[FlavorResource, Course]
"""key → what one group uses."""


class UseAreas(NamedTuple):
    """What was used, and the part of it above min."""

    used: Amount = 0
    borrowed: Amount = 0


def use_areas(course: Course, since: int, until: int) -> UseAreas:
    """Return what was used in [since, until), times milliseconds."""
    used = borrowed = 0
    for begin, end, amount in course.pieces(since, until):
        used += amount * (end - begin)
        borrowed += max(0, amount - course.min) * (end - begin)
    return UseAreas(used, borrowed)


_ABOVE: Final = ""
"""Stands for the parent among its children; no group has this name."""


class Lending(NamedTuple):
    """What siblings lent to each other, times milliseconds. What a borrower has of none of them, its parent had."""

    lent: dict[str, Amount]
    """Lender → amount."""
    taken: dict[tuple[str, str], Amount]
    """(borrower, lender) → amount."""


def lent_areas(siblings: Mapping[str, Course], above: Course, since: int, until: int) -> Lending:
    """Return what each of these siblings lent to the others in [since, until), and to whom.

    At every moment what they use above their mins comes first from what their parent has beside their mins; the rest
    from what others of them leave idle of theirs and lend, in proportion to that, by largest remainder, ties by name.
    What each lends is dealt to the borrowers likewise, lender by lender in the order of their names, in proportion to
    what each borrower has no lender of yet. `above`: what the parent has: its amount or its min, whichever is more.
    """
    courses = {**siblings, _ABOVE: above}
    levels = {name: course.level for name, course in courses.items()}
    changes: dict[int, list[tuple[str, Amount]]] = {}
    for name, course in courses.items():
        for time, delta in course.changes:
            changes.setdefault(max(time, since), []).append((name, delta))
    for name, delta in changes.pop(since, ()):
        levels[name] += delta
    lent: dict[str, Amount] = {}
    taken: dict[tuple[str, str], Amount] = {}
    times = [since, *sorted(time for time in changes if time < until), until]
    for begin, end in pairwise(times):
        for name, delta in changes.get(begin, ()) if begin > since else ():
            levels[name] += delta
        beside = max(levels[_ABOVE], above.min) - sum(course.min for course in siblings.values())
        above_min = {name: levels[name] - each.min for name, each in siblings.items() if levels[name] > each.min}
        now = _lent_at(siblings, levels, sum(above_min.values()) - max(0, beside))
        for name, amount in now.items():
            lent[name] = lent.get(name, 0) + amount * (end - begin)
        for pair, amount in _taken(above_min, now):
            taken[pair] = taken.get(pair, 0) + amount * (end - begin)
    return Lending(lent, taken)


def _lent_at(siblings: Mapping[str, Course], levels: Mapping[str, Amount], borrowed: Amount) -> dict[str, Amount]:
    if borrowed <= 0:
        return {}
    idle = {
        name: course.min - max(levels[name], course.guarantee)
        for name, course in siblings.items()
        if course.min > max(levels[name], course.guarantee)
    }
    return _deal(borrowed, idle)


def _taken(borrowed: Mapping[str, Amount], lent: Mapping[str, Amount]) -> Iterator[tuple[tuple[str, str], Amount]]:
    """Yield ((borrower, lender), amount): together what each lent, and no more than what each borrowed."""
    left = dict(borrowed)
    for lender, amount in sorted(lent.items()):
        for borrower, part in _deal(amount, left).items():
            left[borrower] -= part
            if part:
                yield (borrower, lender), part


def _deal(amount: Amount, shares: Mapping[str, Amount]) -> dict[str, Amount]:
    """Return the amount in proportion to the shares, by largest remainder, ties by name; no more than the shares."""
    total = sum(shares.values())
    if amount >= total:
        return dict(shares)
    dealt = {name: amount * share // total for name, share in shares.items()}
    by_remainder = sorted(shares, key=lambda name: (-(amount * shares[name] % total), name))
    for name in by_remainder[: amount - sum(dealt.values())]:
        dealt[name] += 1
    return dealt
