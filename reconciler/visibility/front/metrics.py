"""Metrics of the visibility API: requests, open watches, and the expiry of its certificate."""

from collections import Counter as Counts
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge


class OpenWatches:
    """The number of open watches, of all and of each who shares a bound."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.count = 0
        self.of = Counts[str]()
        gauge = Gauge("quotree_visibility_watches", "Open watches of the visibility API.", registry=registry)
        gauge.set_function(lambda: self.count)

    @contextmanager
    def one_more(self, sharer: str) -> Iterator[None]:
        """Count one more open watch while the block runs."""
        self.count += 1
        self.of[sharer] += 1
        try:
            yield
        finally:
            self.count -= 1
            self.of[sharer] -= 1
            if not self.of[sharer]:
                del self.of[sharer]


class VisibilityMetrics:
    """All metrics, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "quotree_visibility_requests",
            "Requests to the visibility API, by HTTP status.",
            ["code"],
            registry=registry,
        )
        self.watches = OpenWatches(registry)
        self.certificate_expiry = Gauge(
            "quotree_visibility_certificate_expiry_timestamp_seconds",
            "When the certificate of the visibility API expires.",
            registry=registry,
        )
        self.certificate_loads = Counter(
            "quotree_visibility_certificate_loads",
            "Certificates of the visibility API taken into use.",
            registry=registry,
        )
