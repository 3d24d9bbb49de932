"""Orders in which evicted workloads may end: what starts in the room that they leave may depend on it.

    a (3) and b (4) are evicted; d's job of 7 comes before c's job of 3. If they end together, d's job starts. If a ends
    first, c's job fits at once and starts, and then d's does not fit any more.

Nobody knows how long pods take to end, so a prediction tries some orders, the same ones each time. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

from shared.quota.model.workload import Workload

_MOST_STEPS: Final = 8
"""Most steps in which evicted workloads end: up to so many end one by one, more of them in equal parts."""


@dataclass(frozen=True, slots=True)
class OneAfterAnother:
    """An order of its own for each number; an odd one is the reverse of the one before it."""

    number: int

    def __call__(self, evicting: Sequence[Workload]) -> Iterable[Workload]:
        """Return those that end next."""
        inverse, salt = self.number % 2 == 1, self.number // 2
        ordered = sorted(evicting, key=lambda each: _place(each, salt), reverse=inverse)
        return ordered[: -(-len(ordered) // _MOST_STEPS)]


ORDERS: Final = tuple(map(OneAfterAnother, range(8)))
"""The orders that are tried. With two workloads the first two are all there are."""


def _place(workload: Workload, salt: int) -> tuple[Any, ...]:
    """Return a sort key: what it requests, or what looks like chance and is the same each time."""
    if not salt:
        return tuple(amount for _, amount in sorted(workload.request.items())), workload.key
    return (crc32(f"{salt}/{workload.kind}/{workload.key}".encode()), workload.key)
