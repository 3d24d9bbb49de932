"""Whole numbers in proportion to weights: the whole part of each share, then one unit each by largest remainder.

See docs/specification.md §3.5 and §3.8.
"""

from collections.abc import Sequence
from typing import NamedTuple

from shared.resources import Amount


class WholeParts(NamedTuple):
    """One round before its remaining units are dealt."""

    weights: Sequence[Amount]
    dealt: list[Amount]
    remainders: list[Amount]
    left: Amount


def whole_parts(pool: Amount, weights: Sequence[Amount]) -> WholeParts:
    """Return the whole part of each share of `pool` in proportion to `weights` (some above 0), and what is left."""
    total = sum(weights)
    dealt = [pool * weight // total for weight in weights]
    return WholeParts(weights, dealt, [pool * weight % total for weight in weights], pool - sum(dealt))


def deal_round(pool: Amount, weights: Sequence[Amount]) -> list[Amount]:
    """Deal all of `pool` in proportion to `weights` (some above 0); the largest remainders first, then the first."""
    parts = whole_parts(pool, weights)
    by_remainder = sorted(range(len(weights)), key=lambda place: parts.remainders[place], reverse=True)
    for place in by_remainder[: parts.left]:
        parts.dealt[place] += 1
    return parts.dealt
