"""Shares one object among equal records: most Jobs of a team differ only in their names."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from shared.api.core.pod import PodSpec
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import pod_request_of
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts

S = TypeVar("S", bound=msgspec.Struct)
_encode: Final = msgspec.json.Encoder().encode
_MOST_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of what is kept, as JSON; in memory it is some eight times as large."""
_BYTES_OF_REQUEST: Final = 64
"""What an amount, and the entry itself, count as."""


class Interned(Generic[S]):
    """Equal structs as one object. The struct type has `weakref=True`, so that unused ones are dropped."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, S] = WeakValueDictionary()
        self._encode = msgspec.json.Encoder().encode

    def shared(self, value: S) -> S:
        """Return the shared object equal to `value`."""
        return self._known.setdefault(self._encode(value), value)


@lru_cache(maxsize=4096)
def shared_labels(labels: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return these labels as one mapping, which nobody changes."""
    return dict(labels)


class _Request(NamedTuple):
    """`spec` and `around` are kept so that no other object gets their identity."""

    spec: PodSpec
    around: NamespaceContext
    request: Amounts


@dataclass(slots=True)
class InternedRequests:
    """The request of a pod of an interned spec, computed once per `NamespaceContext`."""

    _known: dict[tuple[int, int], _Request] = field(default_factory=dict)
    _bytes: int = 0

    def of(self, spec: PodSpec, around: NamespaceContext, settings: QuotaSettings) -> Amounts:
        """Like `pod_request_of`; `settings` are the same each time."""
        key = (id(spec), id(around))
        known = self._known.get(key)
        if known is not None:
            return known.request
        request = pod_request_of(spec, around, settings)
        if spec.resource_claims:
            return request  # the request of its claims might change
        if self._bytes > _MOST_BYTES:
            self._known.clear()
            self._bytes = 0
        self._bytes += len(_encode(spec)) + _BYTES_OF_REQUEST * (1 + len(request))
        self._known[key] = _Request(spec, around, request)
        return request
