"""Shares one object among equal records: most Jobs of a team differ only in their names."""

from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from shared.api.core.pod import PodSpec
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import pod_request_of
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts

S = TypeVar("S", bound=msgspec.Struct)
_MOST_REQUESTS: Final = 4096
_MOST_AMOUNTS: Final = 65536
"""The maximum of amounts in all kept requests: a request of 64 resources takes some 10 KB."""


class Interned(Generic[S]):
    """Equal structs as one object. The struct type has `weakref=True`, so that unused ones are dropped."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, S] = WeakValueDictionary()
        self._encode = msgspec.json.Encoder().encode

    def shared(self, value: S) -> S:
        """Return the shared object equal to `value`."""
        return self._known.setdefault(self._encode(value), value)


class _Request(NamedTuple):
    """`spec` and `around` are kept so that no other object gets their identity."""

    spec: PodSpec
    around: NamespaceContext
    request: Amounts


@dataclass(slots=True)
class InternedRequests:
    """The request of a pod of an interned spec, computed once per `NamespaceContext`."""

    _known: dict[tuple[int, int], _Request] = field(default_factory=dict)
    _amounts: int = 0

    def of(self, spec: PodSpec, around: NamespaceContext, settings: QuotaSettings) -> Amounts:
        """Like `pod_request_of`; `settings` are the same each time."""
        key = (id(spec), id(around))
        known = self._known.get(key)
        if known is not None:
            return known.request
        request = pod_request_of(spec, around, settings)
        if spec.resource_claims:
            return request  # the request of its claims might change
        if len(self._known) >= _MOST_REQUESTS or self._amounts > _MOST_AMOUNTS:
            self._known.clear()
            self._amounts = 0
        self._amounts += len(request)
        self._known[key] = _Request(spec, around, request)
        return request
