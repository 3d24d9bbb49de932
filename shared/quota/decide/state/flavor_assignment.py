"""Which flavors a pending workload takes: one per pod set and codependent set, in the order that two settings give.

All sets are taken together: an assignment whose flavors no node could have at once is never tried.

See docs/specification.md §6.6.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, product
from typing import NamedTuple

from shared.api.names import MAIN_POD_SET
from shared.quota.decide.state.usage import Quantities
from shared.quota.measure.static.pod_set_choices import MOST_ASSIGNMENTS, requests_of
from shared.quota.model.eligibility import FlavorSet, Options, agree
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Group, WhenCanBorrow, WhenCanReclaim
from shared.quota.model.workload import Flavors, Workload
from shared.resources import Amount, FlavorResource, keys_in


class FlavorChoice(NamedTuple):
    """One flavor for one set of resources of one pod set.

    `quantities`: what the workload takes of its keys with this choice and those of the sets before it.
    """

    flavor: str
    resources: tuple[str, ...]
    quantities: Quantities
    pod_set: str = MAIN_POD_SET


class FlavorAssignment(NamedTuple):
    """One choice for each set, and what the workload takes in all."""

    options: tuple[FlavorChoice, ...]
    quantities: Quantities

    @property
    def flavors(self) -> Flavors:
        """pod set -> resource -> flavor."""
        found: dict[str, dict[str, str]] = {}
        for option in self.options:
            found.setdefault(option.pod_set, {}).update(dict.fromkeys(option.resources, option.flavor))
        return found


Assignments = tuple[FlavorAssignment, ...]
"""All possible assignments of a workload, in order of preference; never empty."""


class Fit(NamedTuple):
    """How well a workload fits one option now."""

    entitled: bool
    fits: bool


class Candidate(NamedTuple):
    """How a workload is evaluated in one assignment: it can start, is entitled to room that is not free, or neither."""

    assignment: FlavorAssignment
    entitled: bool
    starts: bool
    rank: tuple[tuple[bool, int], ...]
    """Per set: whether it borrows there, and the place of the flavor in the group's order."""

    @property
    def quantities(self) -> Quantities:
        """What the workload takes in all."""
        return self.assignment.quantities

    @property
    def flavors(self) -> Flavors:
        """pod set -> resource -> flavor."""
        return self.assignment.flavors


ChoiceKey = tuple[int, str, tuple[Amount, ...]]
"""(place of the set, flavor, what is taken of its keys by then)."""


def assignments_of(workload: Workload, options: Options, flavors: Mapping[str, Flavor]) -> Assignments | None:
    """Return the possible assignments of this workload; None when it could never start."""
    if not options.could_fit:
        return None
    if options.together is not None:
        known: dict[ChoiceKey, FlavorChoice] = {}
        requests = requests_of(options.sets)
        return tuple([_of_pod_sets(options.sets, requests, chosen, known) for chosen in options.together])
    sets = [_choices(each) for each in options.sets]
    if len(sets) == 1:
        return tuple([FlavorAssignment((choice,), choice.quantities) for choice in sets[0]])
    found = [
        FlavorAssignment(chosen, tuple(pair for option in chosen for pair in option.quantities))
        for chosen in islice(product(*sets), MOST_ASSIGNMENTS)
        if len(chosen) < 2 or agree(flavors[option.flavor] for option in chosen if option.flavor in flavors)
    ]
    return tuple(found) or None


def _choices(each: FlavorSet) -> Sequence[FlavorChoice]:
    amounts, resources = each.amounts, each.resources
    return [
        FlavorChoice(name, resources, tuple(zip(keys_in(name, resources), amounts, strict=True)))
        for name in each.flavors
    ]


def _of_pod_sets(
    sets: Sequence[FlavorSet],
    requests: Sequence[Mapping[str, Quantities]],
    chosen: Sequence[str],
    known: dict[ChoiceKey, FlavorChoice],
) -> FlavorAssignment:
    """Return the assignment of these flavors; equal choices of one workload are one object, taken from `known`."""
    taken: dict[FlavorResource, Amount] = {}
    options = []
    for place, (each, by_flavor, flavor) in enumerate(zip(sets, requests, chosen, strict=True)):
        own = by_flavor[flavor]
        for key, amount in own:
            taken[key] = taken.get(key, 0) + amount
        so_far = tuple([taken[key] for key, _ in own])
        choice = known.get((place, flavor, so_far))
        if choice is None:
            quantities = tuple([(key, taken[key]) for key, _ in own])
            choice = FlavorChoice(flavor, each.resources, quantities, each.pod_set.name)
            known[place, flavor, so_far] = choice
        options.append(choice)
    return FlavorAssignment(tuple(options), tuple(taken.items()))


def without_flavors(assignments: Assignments, blocked: Collection[str]) -> Assignments | None:
    """Return the assignments without those flavors; None when none is left."""
    if not blocked:
        return assignments
    left = (each for each in assignments if not any(option.flavor in blocked for option in each.options))
    return tuple(left) or None


class Evaluation:
    """How a workload fares in each assignment, in order; each is computed once, and only when needed."""

    __slots__ = ("_fit_of", "_fits", "_found", "_rest")

    def __init__(self, assignments: Assignments, fit: Callable[[FlavorChoice], Fit]) -> None:
        self._fit_of = fit
        self._rest = iter(assignments)
        self._fits: dict[int, tuple[Fit, int]] = {}
        """id of the choice → how it fits, and its place. Equal choices are one object; its hash is expensive."""
        self._found: list[Candidate] = []

    def __iter__(self) -> Iterator[Candidate]:
        """Yield every candidate, in the order of the assignments."""
        yield from self._found
        for assignment in self._rest:
            candidate = self._fit(assignment)
            self._found.append(candidate)
            yield candidate

    def _fit(self, assignment: FlavorAssignment) -> Candidate:
        if len(assignment.options) == 1:
            fit = self._fit_of(assignment.options[0])
            return Candidate(assignment, fit.entitled, fit.fits, ((not fit.entitled, len(self._found)),))
        entitled, starts, rank = True, True, []
        for option in assignment.options:
            found = self._fits.get(id(option))
            if found is None:
                found = self._fits[id(option)] = (self._fit_of(option), len(self._fits))
            fit, place = found
            entitled, starts = entitled and fit.entitled, starts and fit.fits
            rank.append((not fit.entitled, place))
        return Candidate(assignment, entitled, starts, tuple(rank))


def entitled_candidate(evaluation: Iterable[Candidate]) -> Candidate | None:
    """Return the first assignment to which the workload is entitled, one with room first; None: entitled nowhere."""
    first = None
    for each in evaluation:
        if each.entitled and each.starts:
            return each
        if each.entitled and first is None:
            first = each
    return first


def candidates(evaluation: Iterable[Candidate], group: Group) -> Iterator[Candidate]:
    """Yield every assignment worth trying, best first.

    A plan is only ever tried where the workload is entitled in all sets.
    """
    borrow = group.when_can_borrow is WhenCanBorrow.BORROW
    if group.when_can_reclaim is WhenCanReclaim.RECLAIM:
        yield from (each for each in evaluation if each.entitled or (each.starts and borrow))
    best = _best_start(evaluation, group.when_can_borrow)
    if best is not None:
        yield best
    if group.when_can_reclaim is not WhenCanReclaim.RECLAIM:
        yield from (each for each in evaluation if each.entitled and not each.starts)


def with_other_plans(found: Iterable[Candidate]) -> Iterator[tuple[Candidate, Sequence[Candidate]]]:
    """Yield each candidate, and with one that needs a plan those that follow until the workload starts in one."""
    for starts, together in groupby(found, key=lambda each: each.starts):
        if starts:
            yield from ((each, ()) for each in together)
        else:
            planned = list(together)
            yield from ((each, planned[place:]) for place, each in enumerate(planned, start=1))


def borrows_first_fitting(assignments: Assignments, group: Group) -> bool:
    """Return whether a workload that is entitled to none of these tries only the first that fits.

    All of them have one choice for each set.
    """
    if group.when_can_borrow is WhenCanBorrow.BORROW:
        return group.when_can_reclaim is not WhenCanReclaim.RECLAIM
    return len(assignments) == 1 or len(assignments[0].options) == 1


def borrowing_order(
    assignments: Assignments, group: Group, is_entitled: Callable[[FlavorChoice], bool]
) -> Sequence[FlavorAssignment]:
    """Return the assignments in the order in which a workload takes the first that fits, where it is entitled to none.

    It may be entitled to some sets of an assignment: with `whenCanBorrow: TryNextFlavor` it borrows as few as it can.
    """
    if group.when_can_borrow is WhenCanBorrow.BORROW:
        return assignments
    evaluation = Evaluation(assignments, lambda option: Fit(is_entitled(option), fits=True))
    return [each.assignment for each in sorted(evaluation, key=lambda each: each.rank)]


def _best_start(evaluation: Iterable[Candidate], borrow: WhenCanBorrow) -> Candidate | None:
    """Return the first that starts; with TryNextFlavor the one that borrows least."""
    best: Candidate | None = None
    for each in evaluation:
        if each.starts and (best is None or each.rank < best.rank):
            best = each
            if borrow is WhenCanBorrow.BORROW or (each.entitled and len(each.rank) == 1):
                break  # of a single set, the first that borrows nothing is the best
    return best
