"""Percents of what a group's parent has, as text and as whole numbers: thousandths of one percent.

See docs/specification.md §3.11.
"""

import re
from collections.abc import Sequence
from typing import Final

from shared.resources import MAX_AMOUNT, MAX_QUANTITY_LENGTH, Amount, QuantityError

Percent = int
"""In thousandths of one percent: 33.5 % is 33500."""

WHOLE: Final[Percent] = 100_000
"""100 %."""
MOST: Final[Percent] = 999_999
SIGN: Final = "%"
PERCENT: Final = r"[0-9]{1,3}(\.[0-9]{1,3})?%"
"""As a regular expression, for the schema too."""
_GRAMMAR: Final = re.compile(PERCENT, re.ASCII)
_STEPS: Final = 1000


def is_percent(quantity: object) -> bool:
    """Return whether the quantity is meant as a percent, well-formed or not."""
    return isinstance(quantity, str) and len(quantity) <= MAX_QUANTITY_LENGTH and quantity.endswith(SIGN)


def read_percent(text: str) -> Percent:
    """Return the percent. Raises QuantityError off the grammar."""
    if _GRAMMAR.fullmatch(text) is None:
        raise QuantityError(f"{text!r} is not a percent; write one from 0% to 999.999%, for example 40% or 12.5%")
    whole, _, part = text.removesuffix(SIGN).partition(".")
    return int(whole) * _STEPS + int(part.ljust(3, "0") or "0")


def write_percent(percent: Percent) -> str:
    """Return the percent as a person would write it: 33500 is "33.5%"."""
    whole, part = divmod(percent, _STEPS)
    return f"{whole}.{part:03}".rstrip("0").rstrip(".") + SIGN


def share_out(whole: Amount, percents: Sequence[Percent]) -> list[Amount]:
    """Return the percents of `whole`: together the whole part of their sum, by largest remainder, then the first.

    share_out(5, [50_000, 50_000]) == [3, 2].
    """
    shares = [whole * percent for percent in percents]
    dealt = [share // WHOLE for share in shares]
    left = sum(shares) // WHOLE - sum(dealt)
    by_remainder = sorted(range(len(shares)), key=lambda place: shares[place] % WHOLE, reverse=True)
    for place in by_remainder[:left]:
        dealt[place] += 1
    return [min(amount, MAX_AMOUNT) for amount in dealt]


def percent_for(whole: Amount, amount: Amount) -> Percent | None:
    """Return a percent of `whole` that comes to `amount`, or little more, in as few digits as do; None above MOST.

    percent_for(7, 3) == 43_000: 43 % of 7 is 3.01.
    """
    for step in (_STEPS, _STEPS // 10, _STEPS // 100, 1):
        percent = -(-amount * WHOLE // (whole * step)) * step if whole else MOST + 1
        if percent <= MOST and (whole * percent // WHOLE == amount or step == 1):
            return percent
    return None
