"""Which flavors pending work takes: one per codependent set, in the order that the group's two settings give.

All sets are taken together: an assignment whose flavors no node could have at once is never tried. DESIGN section 6,
"Flavor".
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Final, NamedTuple

from shared.quota.decide.room import Ask, ask_in
from shared.quota.model.eligibility import Options, agree
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Group, WhenCanBorrow, WhenCanReclaim
from shared.quota.model.workload import Flavors, Workload

MOST_ASSIGNMENTS: Final = 256
"""How many combinations of several sets are looked at; a bound for absurd trees only."""


class Option(NamedTuple):
    """One flavor for one set of resources, and what the work would take of it."""

    flavor: str
    resources: tuple[str, ...]
    ask: Ask


class Assignment(NamedTuple):
    """One option of each set."""

    options: tuple[Option, ...]
    ask: Ask

    @property
    def flavors(self) -> Flavors:
        """resource -> flavor."""
        return {resource: option.flavor for option in self.options for resource in option.resources}


Wish = tuple[Assignment, ...]
"""Everything that work may take, in order of preference; never empty."""


class Mark(NamedTuple):
    """How work stands in one option now."""

    entitled: bool
    fits: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """How work stands in one assignment: it may start, or be entitled to room that is not free, or neither."""

    assignment: Assignment
    entitled: bool
    starts: bool
    rank: tuple[tuple[bool, int], ...]
    """Per set: whether it borrows there, and the place of the flavor in the group's order."""

    @property
    def ask(self) -> Ask:
        """What the work takes in all."""
        return self.assignment.ask

    @property
    def flavors(self) -> Flavors:
        """resource -> flavor."""
        return self.assignment.flavors


def wish_of(workload: Workload, options: Options, flavors: Mapping[str, Flavor]) -> Wish | None:
    """What this work may take; None when it could never start."""
    if not options.could_fit:
        return None
    sets = [
        [Option(name, each.resources, ask_in(workload.request, each.resources, name)) for name in each.flavors]
        for each in options.sets
    ]
    found = [
        Assignment(chosen, tuple(pair for option in chosen for pair in option.ask))
        for chosen in islice(product(*sets), MOST_ASSIGNMENTS)
        if len(chosen) < 2 or agree(flavors[option.flavor] for option in chosen if option.flavor in flavors)
    ]
    return tuple(found) or None


def without_flavors(wish: Wish, blocked: Collection[str]) -> Wish | None:
    """The wish less those flavors; None when nothing is left."""
    if not blocked:
        return wish
    left = (each for each in wish if not any(option.flavor in blocked for option in each.options))
    return tuple(left) or None


class Stand:
    """How work stands in each assignment, in order; worked out one by one, each option once, only as far as asked."""

    __slots__ = ("_found", "_mark", "_marks", "_rest")

    def __init__(self, wish: Wish, mark: Callable[[Option], Mark]) -> None:
        self._mark = mark
        self._rest = iter(wish)
        self._marks: dict[Option, tuple[Mark, int]] = {}
        self._found: list[Attempt] = []

    def __iter__(self) -> Iterator[Attempt]:
        """Every attempt, in the order of the wish."""
        yield from self._found
        for assignment in self._rest:
            attempt = self._judge(assignment)
            self._found.append(attempt)
            yield attempt

    def _judge(self, assignment: Assignment) -> Attempt:
        if len(assignment.options) == 1:
            mark = self._mark(assignment.options[0])
            return Attempt(assignment, mark.entitled, mark.fits, ((not mark.entitled, len(self._found)),))
        own = []
        for option in assignment.options:
            if option not in self._marks:
                self._marks[option] = (self._mark(option), len(self._marks))
            own.append(self._marks[option])
        return Attempt(
            assignment,
            entitled=all(each.entitled for each, _ in own),
            starts=all(each.fits for each, _ in own),
            rank=tuple((not each.entitled, place) for each, place in own),
        )


def entitled_attempt(stood: Iterable[Attempt]) -> Attempt | None:
    """The first assignment the work is entitled to, one with room before one without; None: entitled nowhere."""
    first = None
    for each in stood:
        if each.entitled and each.starts:
            return each
        if each.entitled and first is None:
            first = each
    return first


def attempts(stood: Iterable[Attempt], group: Group) -> Iterator[Attempt]:
    """Every assignment worth trying, best first. A plan is only ever tried where the work is entitled in all sets."""
    borrow = group.when_can_borrow is WhenCanBorrow.BORROW
    if group.when_can_reclaim is WhenCanReclaim.RECLAIM:
        yield from (each for each in stood if each.entitled or (each.starts and borrow))
    best = _best_start(stood, group.when_can_borrow)
    if best is not None:
        yield best
    if group.when_can_reclaim is not WhenCanReclaim.RECLAIM:
        yield from (each for each in stood if each.entitled and not each.starts)


def _best_start(stood: Iterable[Attempt], borrow: WhenCanBorrow) -> Attempt | None:
    starting = (each for each in stood if each.starts)
    if borrow is WhenCanBorrow.TRY_NEXT_FLAVOR:
        return min(starting, key=lambda each: each.rank, default=None)
    return next(starting, None)
