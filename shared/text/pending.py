"""Says in a table why a workload waits."""

from typing import Final

_WAITS: Final = " waits: "


def cause_of(message: str) -> str:
    """Return the part of a pending workload's message that follows its name."""
    return message.partition(_WAITS)[2] or message
