"""Metrics of the visibility API: requests, open watches, and the expiry of its certificate."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class VisibilityMetrics:
    """All metrics, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "quotree_visibility_requests",
            "Requests to the visibility API, by HTTP status.",
            ["code"],
            registry=registry,
        )
        self.watches = Gauge("quotree_visibility_watches", "Open watches of the visibility API.", registry=registry)
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
