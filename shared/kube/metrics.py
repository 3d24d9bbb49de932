"""Metrics of watches, the election and the event recorder, for a Prometheus registry; computed at each scrape."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.kube.events.recorder import EventRecorder
from shared.kube.watch.watches import Watches


def expose_watches(registry: CollectorRegistry, watches: Watches) -> None:
    """Per resource: objects kept, unreadable objects, events, lists, streams, and seconds of silence."""
    registry.register(_WatchCollector(watches))


def expose_election(registry: CollectorRegistry, leads: Callable[[], bool]) -> None:
    """`quotree_leader` is 1 on the leader."""
    registry.register(_ElectionCollector(leads))


def expose_events(registry: CollectorRegistry, recorder: EventRecorder) -> None:
    """The number of dropped events."""
    registry.register(_EventCollector(recorder))


class _WatchCollector(Collector):
    def __init__(self, watches: Watches) -> None:
        self._watches = watches

    def collect(self) -> Iterable[Metric]:
        label = ["resource"]
        objects = GaugeMetricFamily("quotree_watch_objects", "Objects kept.", labels=label)
        strange = GaugeMetricFamily("quotree_watch_undecodable", "Objects not understood.", labels=label)
        quiet = GaugeMetricFamily("quotree_watch_quiet_seconds", "Since the server was last heard.", labels=label)
        synced = GaugeMetricFamily("quotree_watch_synced", "1 when all objects are known.", labels=label)
        events = CounterMetricFamily("quotree_watch_events", "Events received.", labels=label)
        lists = CounterMetricFamily("quotree_watch_lists", "Times everything was listed.", labels=label)
        streams = CounterMetricFamily("quotree_watch_streams", "Streams opened.", labels=label)
        for watch in self._watches.members:
            name = [watch.name]
            objects.add_metric(name, len(watch.records))
            strange.add_metric(name, len(watch.undecodable))
            quiet.add_metric(name, watch.health.quiet_seconds())
            synced.add_metric(name, float(watch.synced.is_set()))
            events.add_metric(name, watch.counts.events)
            lists.add_metric(name, watch.counts.lists)
            streams.add_metric(name, watch.counts.streams)
        return (objects, strange, quiet, synced, events, lists, streams)


class _ElectionCollector(Collector):
    def __init__(self, leads: Callable[[], bool]) -> None:
        self._leads = leads

    def collect(self) -> Iterable[Metric]:
        return (GaugeMetricFamily("quotree_leader", "1 while this process leads.", float(self._leads())),)


class _EventCollector(Collector):
    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def collect(self) -> Iterable[Metric]:
        return (CounterMetricFamily("quotree_events_dropped", "Events never sent.", self._recorder.dropped),)
