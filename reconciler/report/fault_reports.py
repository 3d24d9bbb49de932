"""Tells loudly about faults of Quotree's own: each once in the log, and in metrics what is set aside and how often.

See docs/operations.md, "When something is set aside".
"""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.cluster.state.faults.register import GROUP, Fault, Faults
from shared.telemetry import get_logger

log = get_logger(__name__)


class FaultReports(Collector):
    """Counts what each replica has set aside: those that do not lead read the same objects."""

    def __init__(self, faults: Faults, registry: CollectorRegistry) -> None:
        self._faults = faults
        self._told: Counter[tuple[str, str]] = Counter()
        """(kind, place) -> how many faults."""
        registry.register(self)

    def tell(self) -> None:
        """Log the faults that are new."""
        while self._faults.new:
            fault = self._faults.new.pop()
            subject = fault.subject
            self._told[subject.kind, fault.place] += 1
            log.critical(
                "Set aside: our own bug" if fault.is_set_aside else "A step is left out: our own bug",
                kind=subject.kind,
                name=subject.name,
                uid=subject.uid,
                group=subject.group,
                place=fault.place,
                trace=fault.trace,
            )

    def collect(self) -> Iterator[Metric]:
        """Yield both metric families."""
        aside = GaugeMetricFamily(
            "quotree_set_aside",
            "Objects that count no more, because of a fault of Quotree's own.",
            labels=["kind", "group", "place"],
        )
        for labels, number in Counter(map(_labels, self._faults.aside)).items():
            aside.add_metric(labels, number)
        yield aside
        faults = CounterMetricFamily("quotree_faults", "Faults of Quotree's own.", labels=["kind", "place"])
        for where, number in list(self._told.items()):
            faults.add_metric(where, number)
        yield faults


def _labels(fault: Fault) -> tuple[str, str, str]:
    subject = fault.subject
    return subject.kind, subject.name if subject.kind == GROUP else subject.group, fault.place
