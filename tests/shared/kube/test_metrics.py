"""What is scraped is what the watches, the election and the recorder know."""

import asyncio
from datetime import timedelta

from prometheus_client import CollectorRegistry

from shared.kube.client import Client
from shared.kube.events.note import Regarding
from shared.kube.events.recorder import EventRecorder, EventSettings
from shared.kube.lead.election import Election
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.metrics import expose_election, expose_events, expose_watches
from shared.kube.resources import CONFIG_MAPS
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from tests.shared.kube.servers import project_metadata


async def test_watches_are_counted_per_resource(client: Client, namespace: str) -> None:
    registry, watches = CollectorRegistry(), Watches()
    expose_watches(registry, watches)
    await client.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace)
    watch = watches.add(
        Watch(client, CONFIG_MAPS, project_metadata, lambda _: None, namespace=namespace, fields="metadata.name=a")
    )

    def value(name: str) -> float | None:
        return registry.get_sample_value(f"quotree_watch_{name}", {"resource": "configmaps"})

    assert (value("synced"), value("objects")) == (0, 0)
    task = asyncio.create_task(watches.run())
    await asyncio.wait_for(watches.all_synced(), 60)
    names = ("synced", "objects", "undecodable", "events_total", "lists_total", "streams_total")
    assert [value(name) for name in names] == [1, 1, 0, 1, 1, 1]
    assert (value("quiet_seconds") or 0) < 60
    assert watch.health.trouble is None
    assert watches.problem() is None
    assert (watches.problem(timedelta()) or "").startswith("watch of configmaps heard nothing for 0 s: silent")
    task.cancel()
    await asyncio.wait({task})


def test_leading_and_dropped_events_are_exported(client: Client) -> None:
    registry = CollectorRegistry()
    expose_election(registry, Election(client, ElectionSettings("default", "x", "me")).may_write)
    recorder = EventRecorder(client, "quotree.dev/test", "me", EventSettings(capacity=1))
    expose_events(registry, recorder)
    for number in range(3):
        recorder.record(Regarding("v1", "Pod", f"p{number}"), reason="R", action="A", note="n")
    assert registry.get_sample_value("quotree_leader") == 0
    assert registry.get_sample_value("quotree_events_dropped_total") == 2
