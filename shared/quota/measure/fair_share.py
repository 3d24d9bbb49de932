"""How a parent's runtime is divided among its children: floors first, then what is left by weight.

Whole numbers throughout. Every round deals all that is left to all who are hungry by the largest-remainder method,
ties by name, and cuts at the bound; what was cut is dealt in the next round. So sums are exact and order never matters.

See docs/specification.md §3.7 and §3.8.
"""

from collections.abc import Iterable, Sequence

import msgspec

from shared.resources import Amount


class Sibling(msgspec.Struct, frozen=True, gc=False):
    """What the division needs to know of one child, for one key."""

    name: str
    min: Amount
    weight: Amount
    guarantee: Amount
    non_preemptible: Amount
    demand: Amount

    @property
    def floor(self) -> Amount:
        """What it gets before anybody gets more: its use of min, and all that cannot be taken back."""
        return max(min(self.min, self.demand), self.non_preemptible, self.guarantee)


def divide(runtime: Amount, siblings: Iterable[Sibling]) -> dict[str, Amount]:
    """The runtime of every sibling. They sum to at most `runtime`, except where they hold more than that."""
    ordered = sorted(siblings, key=lambda sibling: sibling.name)
    floors = [sibling.floor for sibling in ordered]
    left = runtime - sum(floors)
    if left < 0:
        shares = share_shortage(runtime, ordered, floors)
    else:
        shares = floors
        wants = [max(floor, sibling.demand) for floor, sibling in zip(floors, ordered, strict=True)]
        fill(left, shares, wants, [sibling.weight for sibling in ordered])
    return {sibling.name: share for sibling, share in zip(ordered, shares, strict=True)}


def share_shortage(runtime: Amount, siblings: Sequence[Sibling], floors: Sequence[Amount]) -> list[Amount]:
    """Share too little in proportion to min, never beyond floor, never below nonPreemptible.

    Who holds more than its share keeps what it holds and leaves the sharing, which makes the others' shares smaller;
    so nobody who has left would come back, and the loop ends.
    """
    non_preemptible = [sibling.non_preemptible for sibling in siblings]
    weights = [sibling.min for sibling in siblings]
    keeping = [False] * len(non_preemptible)
    while True:
        shares = [amount if keeps else 0 for amount, keeps in zip(non_preemptible, keeping, strict=True)]
        bounds = [0 if keeps else floor for floor, keeps in zip(floors, keeping, strict=True)]
        fill(max(0, runtime - sum(shares)), shares, bounds, weights)
        over = [index for index, amount in enumerate(non_preemptible) if amount > shares[index]]
        if not over:
            return shares
        for index in over:
            keeping[index] = True


def fill(pool: Amount, shares: list[Amount], bounds: Sequence[Amount], weights: Sequence[Amount]) -> Amount:
    """Raise `shares` in place towards `bounds` by weight until the pool is empty or nobody is hungry; return the rest.

    A round either empties the pool or satisfies somebody, so there are at most as many rounds as shares.
    """
    hungry = [index for index, bound in enumerate(bounds) if shares[index] < bound and weights[index] > 0]
    while pool > 0 and hungry:
        cut = 0
        unsatisfied = []
        for index, dealt in zip(hungry, deal_round(pool, [weights[index] for index in hungry]), strict=True):
            room = bounds[index] - shares[index]
            if dealt < room:
                shares[index] += dealt
                unsatisfied.append(index)
            else:
                shares[index] = bounds[index]
                cut += dealt - room
        pool, hungry = cut, unsatisfied
    return pool


def deal_round(pool: Amount, weights: Sequence[Amount]) -> list[Amount]:
    """Deal all of `pool` in proportion to `weights` (some above 0); largest remainders first, then the first."""
    total = sum(weights)
    dealt = [pool * weight // total for weight in weights]
    left = pool - sum(dealt)
    if left:
        by_remainder = sorted(range(len(weights)), key=lambda index: pool * weights[index] % total, reverse=True)
        for index in by_remainder[:left]:
            dealt[index] += 1
    return dealt
