"""Ranks who has used most, where only so many are kept or written one by one."""

from collections.abc import Mapping
from typing import Final, TypeVar

from shared.resources import Amount

K = TypeVar("K")
_MILLION: Final = 1_000_000


def largest_first(use: Mapping[str, Mapping[K, Amount]], whole: Mapping[K, Amount]) -> list[str]:
    """Return the names in the order of the largest part that each has of some key of `whole`; ties by name."""

    def largest_part(name: str) -> int:
        return max((amount * _MILLION // max(1, whole.get(key, 0)) for key, amount in use[name].items()), default=0)

    return sorted(use, key=lambda name: (-largest_part(name), name))
