"""What the owner of a workload sets by annotations on it.

See docs/specification.md §2.6.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from shared.api.durations import SHORTEST_RUN_TIME, read_duration, write_duration
from shared.api.names import MAX_RUN_TIME

MAX_TEXT: Final = 1024
"""How many characters are read of such an annotation; longer ones are bad."""
_SHOWN: Final = 40


class BadOwnerSetting(ValueError):
    """An annotation of an owner's that cannot be read; `problem` says what is wrong and what to write."""

    def __init__(self, annotation: str, problem: str) -> None:
        super().__init__(f"annotation {annotation} {problem}; it counts as absent")
        self.annotation = annotation
        self.problem = problem


def read_max_run_time(annotations: Mapping[str, str]) -> timedelta | None:
    """Return how long the owner lets the workload run; None: nothing is said. Raises BadOwnerSetting."""
    text = annotations.get(MAX_RUN_TIME)
    if text is None:
        return None
    found = read_duration(text) if len(text) <= MAX_TEXT else None
    if found is None or found < SHORTEST_RUN_TIME:
        least = write_duration(SHORTEST_RUN_TIME)
        raise BadOwnerSetting(MAX_RUN_TIME, f"is {text[:_SHOWN]!r}; write a duration of at least {least}, such as 8h")
    return found
