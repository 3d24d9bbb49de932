"""Since when groups are over, from cycle to cycle: only what has changed is computed again."""

from collections.abc import Mapping
from datetime import datetime

from shared.quota.decide.decisions import OverSince
from shared.resources import FlavorResource

KeysOver = Mapping[str, tuple[FlavorResource, ...]]
"""By group, the keys on which it is over."""


class OverSinceCache:
    """The latest answer, and what it was computed from."""

    __slots__ = ("_given", "_now", "_since", "judged")

    def __init__(self) -> None:
        self.judged: KeysOver = {}
        """The latest groups that were judged to be over."""
        self._given: OverSince = {}
        self._now: datetime | None = None
        self._since: OverSince = {}

    def judge(self, given: OverSince, judged: KeysOver, now: datetime) -> OverSince:
        """Return since when each of `judged` is over: since the moment in `given`, else since now."""
        if given is self._since or (given is self._given and now == self._now):
            since = self._changed(given, judged, now)
        else:
            since = {(name, key): given.get((name, key), now) for name, keys in judged.items() for key in keys}
        self.judged, self._given, self._now, self._since = judged, given, now, since
        return since

    def _changed(self, given: OverSince, judged: KeysOver, now: datetime) -> OverSince:
        before = self.judged
        if judged == before:
            return self._since
        since = dict(self._since)
        for name, keys in before.items():
            if judged.get(name) is not keys:
                for key in keys:
                    del since[name, key]
        for name, keys in judged.items():
            if before.get(name) is not keys:
                since.update({(name, key): given.get((name, key), now) for key in keys})
        return since
