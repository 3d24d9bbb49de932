"""Which flavors pending work takes: one per codependent set, in the order that the group's two settings give.

Every option of every set is marked first (entitled? room?), because sets never share a key; only a reclaim plan has
to be tried for all sets together. DESIGN section 6, "Flavor".
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import NamedTuple

from shared.quota.decide.room import Ask, ask_in
from shared.quota.model.eligibility import Options
from shared.quota.model.tree import Group, WhenCanBorrow, WhenCanReclaim
from shared.quota.model.workload import Flavors, Workload

MOST_COMBINATIONS = 64
"""How many assignments of several sets are tried with reclaim plans; a bound for absurd trees only."""


class Option(NamedTuple):
    """One flavor for one set of resources, and what the work would take of it."""

    flavor: str
    resources: tuple[str, ...]
    ask: Ask


class Mark(NamedTuple):
    """An option, and how the work stands there now."""

    option: Option
    entitled: bool
    fits: bool


Wish = tuple[tuple[Option, ...], ...]
"""Per set, the options in order of preference."""
Marks = Sequence[Sequence[Mark]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One assignment to try: to start in it, or to free the room for it."""

    options: tuple[Option, ...]
    entitled: bool
    starts: bool

    @property
    def ask(self) -> Ask:
        """What the work takes in all."""
        return ask_over(self.options)

    @property
    def flavors(self) -> Flavors:
        """resource -> flavor."""
        return {resource: option.flavor for option in self.options for resource in option.resources}


def ask_over(options: Collection[Option]) -> Ask:
    """What is taken with these options together."""
    return tuple(pair for option in options for pair in option.ask)


def wish_of(workload: Workload, options: Options) -> Wish:
    """What this work may take, by set; call only when `options.could_fit`."""
    return tuple(
        tuple(
            Option(flavor, each.resources, ask_in(workload.request, each.resources, flavor)) for flavor in each.flavors
        )
        for each in options.sets
    )


def without_flavors(wish: Wish, blocked: Collection[str]) -> Wish | None:
    """The wish less those flavors; None when a set has none left."""
    if not blocked:
        return wish
    left = tuple(tuple(option for option in options if option.flavor not in blocked) for options in wish)
    return left if all(left) else None


def mark_all(wish: Wish, mark: Callable[[Option], Mark]) -> Marks:
    """How the work stands in each of its options."""
    return [[mark(option) for option in options] for options in wish]


def entitled_options(marks: Marks) -> tuple[Option, ...] | None:
    """Per set the first option the work is entitled to, one with room before one without; None: entitled nowhere."""
    found = []
    for options in marks:
        entitled = [each for each in options if each.entitled]
        if not entitled:
            return None
        found.append(next((each for each in entitled if each.fits), entitled[0]).option)
    return tuple(found)


def attempts(marks: Marks, group: Group) -> Iterator[Attempt]:
    """Every assignment worth trying, best first. A plan is only ever tried where the work is entitled in all sets."""
    best = _best_start(marks, group.when_can_borrow)
    if group.when_can_reclaim is WhenCanReclaim.RECLAIM:
        yield from _in_order(marks, group.when_can_borrow)
        if best is not None:
            yield best
        return
    if best is not None:
        yield best
    for chosen in _combinations(marks, lambda mark: mark.entitled):
        if not all(mark.fits for mark in chosen):
            yield _attempt(chosen)


def _best_start(marks: Marks, borrow: WhenCanBorrow) -> Attempt | None:
    chosen = []
    for options in marks:
        fitting = [mark for mark in options if mark.fits]
        if not fitting:
            return None
        first = fitting[0]
        if borrow is WhenCanBorrow.TRY_NEXT_FLAVOR:
            first = next((mark for mark in fitting if mark.entitled), first)
        chosen.append(first)
    return _attempt(tuple(chosen))


def _in_order(marks: Marks, borrow: WhenCanBorrow) -> Iterator[Attempt]:
    for chosen in _combinations(marks, lambda mark: mark.entitled or mark.fits):
        attempt = _attempt(chosen)
        borrows = attempt.starts and not attempt.entitled
        if (attempt.starts or attempt.entitled) and not (borrows and borrow is WhenCanBorrow.TRY_NEXT_FLAVOR):
            yield attempt


def _combinations(marks: Marks, wanted: Callable[[Mark], bool]) -> Iterator[tuple[Mark, ...]]:
    return islice(product(*([mark for mark in options if wanted(mark)] for options in marks)), MOST_COMBINATIONS)


def _attempt(chosen: tuple[Mark, ...]) -> Attempt:
    return Attempt(
        options=tuple(mark.option for mark in chosen),
        entitled=all(mark.entitled for mark in chosen),
        starts=all(mark.fits for mark in chosen),
    )


def assignments(wish: Wish) -> Iterator[Attempt]:
    """Every assignment of the wish in order of preference, however the work stands in it."""
    for options in islice(product(*wish), MOST_COMBINATIONS):
        yield Attempt(options, entitled=False, starts=False)
