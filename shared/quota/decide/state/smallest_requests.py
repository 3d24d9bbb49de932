"""The least that the pending workloads of a subtree request, so that a pass can skip all of it without evaluating any.

A bound that is cheap to keep: when a workload leaves its queue, the least of the groups above stays as it was until it
is computed again. A subtree in which something fits is never skipped, one in which nothing fits is seldom evaluated.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.usage import Available
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.model.tree import QueueingStrategy
from shared.resources import Amount, FlavorResource

_LAST: Final = datetime.max.replace(tzinfo=UTC)


class Smallest(NamedTuple):
    """Of all workloads that could take one set of keys, the least in each respect."""

    amounts: tuple[Amount, ...]
    """In the order of the keys."""
    beyond_min: bool
    """Whether each of them takes its leaf's used beyond effectiveMin."""
    oldest: datetime
    """When the first of them was queued."""


SmallestRequests = dict[tuple[FlavorResource, ...], Smallest]


def of_leaf(classes: EquivalenceClasses, numbers: GroupNumbers, *, touched: bool = False) -> SmallestRequests:
    """Return the least requests in one leaf, for each set of keys that some pending workload could take.

    `touched`: the head of its queue may have changed in this cycle.
    """
    leaf = classes.leaf
    is_strict = leaf.group.queueing is QueueingStrategy.STRICT_FIFO and not leaf.claims and not touched
    oldest = min((each.queued for each in classes.leaf.pending), default=_LAST)
    found = {}
    for quantities in classes.smallest_at_head if is_strict else classes.smallest:
        own = ((numbers.get(key, NO_NUMBERS), amount) for key, amount in quantities)
        beyond_min = any(each.used + amount > each.effective_min for each, amount in own)
        keys = tuple([key for key, _ in quantities])
        found[keys] = Smallest(tuple([amount for _, amount in quantities]), beyond_min, oldest)
    return found


def merge(into: SmallestRequests, more: SmallestRequests) -> None:
    """Lower `into` so that it is a bound for `more` too."""
    for keys, each in more.items():
        known = into.get(keys)
        if known is None:
            into[keys] = each
        elif known != each:
            into[keys] = Smallest(
                tuple(map(min, known.amounts, each.amounts)),
                known.beyond_min and each.beyond_min,
                min(known.oldest, each.oldest),
            )


def merged(parts: Iterable[SmallestRequests]) -> SmallestRequests:
    """Return a bound for all parts."""
    found: SmallestRequests = {}
    for each in parts:
        merge(found, each)
    return found


def could_fit(requests: SmallestRequests, available: Available) -> bool:
    """Return whether the least amounts of some set of keys are available; if not, no workload fits."""
    for keys, each in requests.items():
        for key, amount in zip(keys, each.amounts, strict=True):
            if amount > available(key):
                break
        else:
            return True
    return False


def is_within(keys: Iterable[FlavorResource], available: Available, most: Mapping[FlavorResource, Amount]) -> bool:
    """Return whether on all these keys no more is available than `most`."""
    return all(available(key) <= most.get(key, -1) for key in keys)
