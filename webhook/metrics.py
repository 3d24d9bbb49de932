"""Metrics of the webhook: verdicts, violated rules, response times, and the expiry of its certificate."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_BUCKETS: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class WebhookMetrics:
    """All metrics, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.reviews = Counter(
            "quotree_webhook_reviews",
            "Reviews answered, by route and verdict (allowed, denied, error).",
            ["route", "verdict"],
            registry=registry,
        )
        self.refusals = Counter(
            "quotree_webhook_refusals", "Rules that refused, by code.", ["route", "rule"], registry=registry
        )
        self.faults = Counter(
            "quotree_faults",
            "Faults of Quotree's own on stored objects without which an edit was judged.",
            ["kind", "place"],
            registry=registry,
        )
        self.seconds = Histogram(
            "quotree_webhook_review_seconds",
            "From the whole body read to the answer written.",
            ["route"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.bad_requests = Counter(
            "quotree_webhook_bad_requests", "Requests that were no review, by HTTP status.", ["code"], registry=registry
        )
        self.dropped_bodies = Counter(
            "quotree_webhook_dropped_bodies",
            "Requests dropped because the bodies in flight exceeded the budget.",
            registry=registry,
        )
        self.connections = Gauge("quotree_webhook_connections", "Open connections.", registry=registry)
        self.certificate_expiry = Gauge(
            "quotree_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate in use expires.",
            registry=registry,
        )
        self.certificate_loads = Counter(
            "quotree_webhook_certificate_loads", "Certificates taken into use.", registry=registry
        )
