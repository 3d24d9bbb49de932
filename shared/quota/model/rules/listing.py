"""How a message lists names: the first few, and how many more there are."""

from collections.abc import Sequence
from typing import Final

SHOWN: Final = 12
"""How many names of a path or list a message shows."""


def listed(names: Sequence[str], separator: str = ", ", most: int = SHOWN) -> str:
    """Return all names, or the first `most` and the number of the others: `a, b and 3 more`."""
    if len(names) <= most:
        return separator.join(names)
    end = " and " if separator == ", " else f"{separator}and "
    return f"{separator.join(names[:most])}{end}{len(names) - most} more"
