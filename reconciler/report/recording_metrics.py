"""How much is recorded, and how much was left out.

See docs/specification.md §9.4.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge


class RecordingMetrics:
    """Counts what the recording writes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.bytes = Counter(
            "quotree_recording_bytes", "Bytes written to the recording, compressed.", registry=registry
        )
        self.lines = Counter("quotree_recording_lines", "Lines written to the recording.", registry=registry)
        self.dropped = Counter(
            "quotree_recording_dropped",
            "Events that are not in the recording: more came than could be written.",
            registry=registry,
        )
        self.failed = Counter("quotree_recording_failed", "Writes of the recording that failed.", registry=registry)
        self.last = Gauge(
            "quotree_recording_last_written_timestamp_seconds",
            "When the recording was last written.",
            registry=registry,
        )
