"""Gives what has changed to the sink of a watch, object by object where that fails."""

import logging
from contextlib import suppress
from typing import Generic, TypeVar

from shared.kube.watch.cache import Cache, Change, Changed, Sink
from shared.problems import place_of

R = TypeVar("R")
_log = logging.getLogger("quotree.kube.watching")


class Delivery(Generic[R]):
    """The sink, and the records that it has been given. `resource`: what is watched, for the log."""

    def __init__(self, sink: Sink[R], cache: Cache[R], resource: str) -> None:
        self._sink = sink
        self._cache = cache
        self._resource = resource

    def tell(self, changes: list[Change[R]]) -> None:
        """Give these changes to the sink. Raises what the sink raises without any change."""
        if not changes:
            return
        try:
            self._sink(changes)
        except Exception as error:
            self._tell_one_by_one(changes, error)

    def _tell_one_by_one(self, changes: list[Change[R]], error: Exception) -> None:
        """Tell each again: a sink takes a change twice. An object of which that fails counts as one that is gone.

        Raises what the sink raises without any change.
        """
        self._sink([])
        _log.critical(
            "change not taken: our own bug; looking for the object", exc_info=error, extra={"resource": self._resource}
        )
        for change in changes:
            try:
                self._sink([change])
            except Exception as fault:
                self._set_aside(change, fault)

    def _set_aside(self, change: Change[R], fault: Exception) -> None:
        problem = self._cache.set_aside(change, f"{type(fault).__name__}: {fault} at {place_of(fault)}"[:500])
        named = {"object": f"{problem.namespace}/{problem.name}".strip("/"), "uid": problem.uid, "why": problem.reason}
        _log.critical("object set aside: our own bug", extra={"resource": self._resource, **named}, exc_info=fault)
        gone = Changed(change.before, None) if isinstance(change, Changed) and change.before is not None else None
        with suppress(Exception):
            self._sink([problem] if gone is None else [gone, problem])
