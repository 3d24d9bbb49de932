"""How a parent's runtime is divided, twice: in exact fractions, and by the whole-number rule. Slow and obvious.

Written from the text of the rules alone. Nothing here may import the engine.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

NEVER = datetime.max.replace(tzinfo=UTC)
Rank = tuple[bool, Fraction, Fraction, datetime, str]


@dataclass(frozen=True)
class Sibling:
    """What the division may know of one child, for one key."""

    name: str
    min: int
    guarantee: int
    demand: int
    non_preemptible: int
    weight: int
    used: int = 0
    past_use: int = 0
    waiting_since: datetime | None = None

    @property
    def floor(self) -> int:
        """What the child gets when nothing is short."""
        return max(min(self.min, self.demand), self.non_preemptible, self.guarantee)


def deal(pool: int, weights: Mapping[str, int], order: Callable[[str, int, Fraction], Rank]) -> dict[str, int]:
    """Deal all of `pool` in proportion: whole parts first, then one unit each in the given order.

    `order` ranks a child by its name, what it has by then, and the fraction of a unit that its share lacks.
    """
    total = sum(weights.values())
    exact = {name: Fraction(pool * weight, total) for name, weight in weights.items()}
    dealt = {name: int(part) for name, part in exact.items()}
    left = pool - sum(dealt.values())
    ranked = sorted(weights, key=lambda name: order(name, dealt[name], exact[name] - dealt[name]))
    for name in ranked[:left]:
        dealt[name] += 1
    return dealt


def fill(
    pool: int,
    start: Mapping[str, int],
    bound: Mapping[str, int],
    weight: Mapping[str, int],
    siblings: Mapping[str, Sibling],
) -> dict[str, int]:
    """Deal `pool` on top of `start` in rounds, cutting each at its bound, until nothing is left or nobody is hungry."""
    have = dict(start)

    def order(name: str, dealt: int, remainder: Fraction) -> Rank:
        child = siblings[name]
        needs_it_already = child.used > have[name] + dealt
        past = Fraction(child.past_use, weight[name])
        return not needs_it_already, past, -remainder, child.waiting_since or NEVER, name

    while pool > 0:
        hungry = {name: weight[name] for name in have if have[name] < bound[name] and weight[name] > 0}
        if not hungry:
            break
        for name, part in deal(pool, hungry, order).items():
            taken = min(part, bound[name] - have[name])
            have[name] += taken
            pool -= taken
    return have


def divide(pool: int, siblings: Iterable[Sibling]) -> dict[str, int]:
    """The whole-number rule: floors, or shares of what is short; then the rest by weight."""
    every = {sibling.name: sibling for sibling in siblings}
    if sum(sibling.floor for sibling in every.values()) <= pool:
        have = {name: sibling.floor for name, sibling in every.items()}
    else:
        have = _share_what_is_short(pool, every)
    rest = max(0, pool - sum(have.values()))
    return fill(
        rest,
        have,
        {name: sibling.demand for name, sibling in every.items()},
        {name: sibling.weight for name, sibling in every.items()},
        every,
    )


def _share_what_is_short(pool: int, every: Mapping[str, Sibling]) -> dict[str, int]:
    keepers: set[str] = set()
    while True:
        sharers = {name: sibling for name, sibling in every.items() if name not in keepers}
        shares = fill(
            max(0, pool - sum(every[name].non_preemptible for name in keepers)),
            dict.fromkeys(sharers, 0),
            {name: sibling.floor for name, sibling in sharers.items()},
            {name: sibling.min for name, sibling in sharers.items()},
            every,
        )
        more = {name for name, share in shares.items() if sharers[name].non_preemptible > share}
        if not more:
            return shares | {name: every[name].non_preemptible for name in keepers}
        keepers |= more


def divide_exactly(pool: int, siblings: Iterable[Sibling]) -> dict[str, Fraction]:
    """In fractions: one water level over the mins, clamped between non_preemptible and floor; then over weights."""
    every = {sibling.name: sibling for sibling in siblings}
    low = {name: Fraction(min(sibling.non_preemptible, sibling.floor)) for name, sibling in every.items()}
    high = {name: Fraction(sibling.floor) for name, sibling in every.items()}
    if sum(high.values()) <= pool:
        have = dict(high)
    else:
        have = _level(Fraction(pool), low, high, {name: sibling.min for name, sibling in every.items()})
    bound = {name: max(have[name], Fraction(sibling.demand)) for name, sibling in every.items()}
    rest = max(Fraction(0), pool - sum(have.values(), Fraction(0)))
    zero = dict.fromkeys(every, Fraction(0))
    room = {name: bound[name] - have[name] for name in every}
    more = _level(rest, zero, room, {name: sibling.weight for name, sibling in every.items()})
    return {name: have[name] + more[name] for name in every}


def _level(
    pool: Fraction, low: Mapping[str, Fraction], high: Mapping[str, Fraction], weight: Mapping[str, int]
) -> dict[str, Fraction]:
    """Return clamp(λ·weight, low, high) for the λ at which the sum is `pool`, or the nearest that can be had."""

    def at(level: Fraction) -> dict[str, Fraction]:
        return {name: min(high[name], max(low[name], level * weight[name])) for name in low}

    bends = sorted(
        {bound[name] / weight[name] for bound in (low, high) for name in low if weight[name]} | {Fraction(0)}
    )
    below = _last(bends, lambda level: sum(at(level).values()) <= pool)
    if below is None:
        return dict(low)
    reached = at(below)
    total = sum(reached.values(), Fraction(0))
    slope = sum(weight[name] for name in low if low[name] <= below * weight[name] < high[name])
    if not slope:
        return reached
    return at(below + Fraction(pool - total, slope))


def _last(levels: list[Fraction], holds: Callable[[Fraction], bool]) -> Fraction | None:
    found = None
    for level in levels:
        if holds(level):
            found = level
    return found
