"""One object that cannot be made is left out of a list, and named in the log: the others are answered."""

from collections.abc import Callable
from typing import TypeVar

from reconciler.visibility.objects.selection import Selection
from shared.telemetry import get_logger

log = get_logger(__name__)
T = TypeVar("T")


def made_for(selection: Selection, name: str, make: Callable[[], T | None]) -> T | None:
    """Return the object; None if a list is to do without it. Raises what `make` does where it is asked for by name."""
    try:
        return make()
    except Exception:
        if selection.name:
            raise
        log.exception("An object is left out of a list: our own bug", kind=selection.kind.kind, name=name)
        return None
