"""How a parent's runtime is divided among its children: floors first, then what is left by weight.

Whole numbers throughout. Every round deals all that is left among all hungry children: first the whole part of each
share, then the units that remain, one each, in the order of `units_order`; then it cuts at the bound, and what was cut
is dealt in the next round. So sums are exact, and the order of the input never matters.

See docs/specification.md §3.7 and §3.8.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from shared.quota.measure.group_usage import Numbers
from shared.quota.model.amounts.largest_remainder import WholeParts, whole_parts
from shared.resources import Amount

_NOT_WAITING: Final = datetime.max.replace(tzinfo=UTC)
EXACT: Final = 128
"""Two different ratios of amounts below 2^63 differ by more than 2^-128."""


class Sibling(NamedTuple):
    """What the division needs to know of one child, for one key."""

    name: str
    numbers: Numbers
    """All but its runtime is read."""
    past_use: Amount = 0
    """Decayed use of the past; only its ratio to the siblings' matters."""
    turn: Amount = 0
    """What it gets at least, after the floors of all, while it has a turn; at most one sibling has one. 0: none."""


_BY_NAME: Final = attrgetter("name")


class DivisionSteps(NamedTuple):
    """How a division comes about: what each sibling gets before the rounds, and in each round; they add up.

    `short`: the floors exceed what there is, and the rounds share it in proportion to min; else the rounds share what
    the floors leave, in proportion to weight.
    """

    short: bool
    first: Mapping[str, Amount]
    rounds: Sequence[Mapping[str, Amount]]


def divide(runtime: Amount, siblings: Iterable[Sibling]) -> dict[str, Amount]:
    """Divide `runtime`; return the runtime of every sibling, by name.

    The shares sum to at most `runtime`, unless non-preemptible use alone exceeds it.

    Runtime 10; a: min 2, weight 1, demand 9; b: min 1, weight 2, demand 2; c: min 0, weight 3, demand 9.
    Floors 2, 1, 0 leave 7. Round 1 deals 1, 2, 3 (of 1.17, 2.33, 3.5) and the unit that remains to c, the
    largest remainder. b is bound by 2, so 1 is left: round 2 deals it to c (0.75 against 0.25). Result 3, 2, 5.
    """
    return _divide_by_turn(runtime, sorted(siblings, key=_BY_NAME))


def divide_in_steps(runtime: Amount, siblings: Iterable[Sibling]) -> DivisionSteps:
    """Return the steps of `divide`."""
    ordered = sorted(siblings, key=_BY_NAME)
    holder = _holder(runtime, ordered)
    if holder is not None:
        others = [sibling for sibling in ordered if sibling is not holder]
        rest = divide_in_steps(runtime - holder.turn, others)
        rounds = [{**dealt, holder.name: 0} for dealt in rest.rounds]
        return DivisionSteps(rest.short, {**rest.first, holder.name: holder.turn}, rounds)
    steps: list[list[Amount]] = []
    _divide(runtime, _Dealer(ordered, steps))
    names = [sibling.name for sibling in ordered]
    rounds = [
        {name: new - old for name, old, new in zip(names, before, after, strict=True)}
        for before, after in pairwise(steps)
    ]
    is_short = sum(sibling.numbers.floor for sibling in ordered) > runtime
    return DivisionSteps(is_short, dict(zip(names, steps[0], strict=True)), rounds)


def _divide_by_turn(runtime: Amount, ordered: Sequence[Sibling]) -> dict[str, Amount]:
    """Give the sibling that has a turn what it needs; the others share the rest as if it was not there.

    Runtime 4; a and b, without min, of equal weight, each demands 9; b has a turn of 3: it gets 3, and a 1.
    """
    holder = _holder(runtime, ordered)
    if holder is None:
        return _divide(runtime, _Dealer(ordered))
    others = [sibling for sibling in ordered if sibling is not holder]
    return {**_divide(runtime - holder.turn, _Dealer(others)), holder.name: holder.turn}


def _holder(runtime: Amount, ordered: Sequence[Sibling]) -> Sibling | None:
    """Return the sibling whose turn counts: it would get less without, and the floors of the others leave so much."""
    holder = next((sibling for sibling in ordered if sibling.turn), None)
    if holder is None or holder.turn > runtime - sum(each.numbers.floor for each in ordered if each is not holder):
        return None
    return holder if _divide(runtime, _Dealer(ordered))[holder.name] < holder.turn else None


def _divide(runtime: Amount, dealer: "_Dealer") -> dict[str, Amount]:
    ordered = dealer.siblings
    floors = [sibling.numbers.floor for sibling in ordered]
    left = runtime - sum(floors)
    if left < 0:
        shares = _share_shortage(runtime, ordered, floors, dealer)
    else:
        shares = floors
        bounds = [max(floor, sibling.numbers.demand) for floor, sibling in zip(floors, ordered, strict=True)]
        dealer.fill(left, shares, bounds, [sibling.numbers.weight for sibling in ordered])
    return {sibling.name: share for sibling, share in zip(ordered, shares, strict=True)}


def _share_shortage(
    runtime: Amount, siblings: Sequence[Sibling], floors: Sequence[Amount], dealer: "_Dealer"
) -> list[Amount]:
    """Share too little in proportion to min, never beyond floor, never below nonPreemptible.

    A child that holds more than its share keeps what it holds and leaves the sharing, which makes the others' shares
    smaller: no child that left would return, so the loop ends.

    Runtime 8; a: min 6; b: min 4; c: min 2, all of it in non-preemptible use; each demands 9.
    In proportion to min: 4, 2.67, 1.33. c holds more than that: it keeps 2, and a and b share 6: 4 and 2.
    """
    non_preemptible = [sibling.numbers.non_preemptible for sibling in siblings]
    weights = [sibling.numbers.min for sibling in siblings]
    keeping = [False] * len(non_preemptible)
    while True:
        dealer.restart()
        shares = [amount if keeps else 0 for amount, keeps in zip(non_preemptible, keeping, strict=True)]
        bounds = [0 if keeps else floor for floor, keeps in zip(floors, keeping, strict=True)]
        dealer.fill(max(0, runtime - sum(shares)), shares, bounds, weights)
        over = [index for index, amount in enumerate(non_preemptible) if amount > shares[index]]
        if not over:
            return shares
        for index in over:
            keeping[index] = True


class _Dealer:
    """Deals to `siblings` in rounds."""

    def __init__(self, siblings: Sequence[Sibling], steps: list[list[Amount]] | None = None) -> None:
        self.siblings = siblings
        self.steps = steps
        """The shares before the rounds and after each; None: not kept."""

    def restart(self) -> None:
        """Forget the steps so far: the sharing begins again without those who left it."""
        if self.steps is not None:
            self.steps.clear()

    def fill(self, pool: Amount, shares: list[Amount], bounds: Sequence[Amount], weights: Sequence[Amount]) -> None:
        """Raise `shares` in place towards `bounds` by weight until the pool is empty or no child is hungry.

        A round either empties the pool or satisfies a child, so there are at most as many rounds as shares.
        """
        self._keep_step(shares)
        hungry = [index for index, bound in enumerate(bounds) if shares[index] < bound and weights[index] > 0]
        while pool > 0 and hungry:
            cut = 0
            unsatisfied = []
            for index, dealt in zip(hungry, self._deal(pool, hungry, shares, weights), strict=True):
                room = bounds[index] - shares[index]
                if dealt < room:
                    shares[index] += dealt
                    unsatisfied.append(index)
                else:
                    shares[index] = bounds[index]
                    cut += dealt - room
            pool, hungry = cut, unsatisfied
            self._keep_step(shares)

    def _keep_step(self, shares: Sequence[Amount]) -> None:
        if self.steps is not None:
            self.steps.append(list(shares))

    def _deal(
        self, pool: Amount, hungry: Sequence[int], shares: Sequence[Amount], weights: Sequence[Amount]
    ) -> list[Amount]:
        parts = whole_parts(pool, [weights[index] for index in hungry])
        if parts.left:
            siblings = [self.siblings[index] for index in hungry]
            have = [shares[index] + dealt for index, dealt in zip(hungry, parts.dealt, strict=True)]
            for place in units_order(siblings, have, parts)[: parts.left]:
                parts.dealt[place] += 1
        return parts.dealt


def units_order(siblings: Sequence[Sibling], have: Sequence[Amount], parts: WholeParts) -> list[int]:
    """Return the places of `siblings`, which are sorted by name, in the order in which they get a remaining unit.

    First those whose use needs the unit already, so that a change of this order evicts nothing; then the least past
    use in proportion to weight, so that all are served over time; then the largest remainder, the longest waiting, the
    name. Twelve equal leaves, six GPUs, one-GPU jobs: six leaves use one each and keep it. When a job ends, its GPU
    goes to the leaf with the least past use, which is none of the five that run.
    """

    def rank(place: int) -> tuple[bool, Amount, Amount, datetime]:
        sibling = siblings[place]
        past = (sibling.past_use << EXACT) // parts.weights[place] if sibling.past_use else 0
        return (
            sibling.numbers.used <= have[place],
            past,
            -parts.remainders[place],
            sibling.numbers.waiting_since or _NOT_WAITING,
        )

    return sorted(range(len(siblings)), key=rank)
