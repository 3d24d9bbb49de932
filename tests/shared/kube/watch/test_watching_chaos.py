"""Through random faults and random writes, a watch ends up knowing exactly what there is, and told each step once."""

import asyncio
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from functools import partial
from random import Random

import msgspec
import pytest

from shared.kube.client import Client, ObjectMetadata
from shared.kube.errors import NotFound
from shared.kube.resources import CONFIG_MAPS
from shared.kube.watch.watching import Watch, WatchSettings
from tests.faults.kinds import CutAnswer, Delay, FallSilent, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import until
from tests.shared.kube.watch.test_watching import Thing, project, put, watching

QUICK = WatchSettings(silence=timedelta(seconds=1), life=timedelta(seconds=0.5), page=3)
NOT_KUBERNETES_OWN = "metadata.name!=kube-root-ca.crt"
RULES = (
    Rule(Delay(0, 0.2), chance=0.5),
    Rule(CutAnswer(after=1500), chance=0.15),
    Rule(CutAnswer(after=50), chance=0.1),
    Rule(FallSilent(after=700), chance=0.1),
    Rule(Refuse(410), lambda asked: "resourceVersion" in asked.query, chance=0.15),
    Rule(Refuse(429), chance=0.1),
    Rule(Refuse(500), chance=0.1),
    Rule(Refuse(422, "Invalid"), lambda asked: "sendInitialEvents" in asked.query, chance=0.2),
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.kube.watch.backoff.LONGEST", 0.3)


def read_all(objects: list[msgspec.Raw]) -> tuple[set[tuple[str, str]], set[str]]:
    """What there is as (name, value), and the names of what cannot be read."""
    right, strange = set(), set()
    for raw in objects:
        try:
            thing = project(bytes(raw))
        except ValueError:
            strange.add(msgspec.json.decode(raw, type=ObjectMetadata).metadata.name)
        else:
            right |= {(thing.name, thing.value)} if thing else set()
    return right, strange


def knows(watch: Watch[Thing], truth: tuple[set[tuple[str, str]], set[str]]) -> bool:
    strange = {bad.name for bad in watch.undecodable.values()}
    known = {(thing.name, thing.value) for thing in watch.records.values() if thing.name not in strange}
    return (known, strange) == truth


@pytest.mark.parametrize("seed", [1, 2])
async def test_watch_converges_to_the_stored_objects_under_faults(
    client: Client, through: Client, proxy: FaultProxy, namespace: str, seed: int
) -> None:
    random = Random(seed)
    proxy.random.seed(seed)
    side = proxy.side("watcher")
    stop = asyncio.Event()

    async def write() -> None:
        while not stop.is_set():
            name = f"c{random.randrange(12)}"
            if random.random() < 0.3:
                with suppress(NotFound):
                    await client.delete(CONFIG_MAPS, name, namespace)
            else:
                await put(client, namespace, name, random.choice(["1", "2", "hidden", "poison"]))
            await asyncio.sleep(random.uniform(0, 0.05))

    async def disturb() -> None:
        while not stop.is_set():
            await asyncio.sleep(random.uniform(0, 1))
            random.choice([side.cut, side.partition, side.heal, side.heal, side.heal])()

    proxy.rules += [Rule(rule.fault, rule.when, rule.chance) for rule in RULES]
    async with AsyncExitStack() as stack:
        watches = [
            await stack.enter_async_context(watching(through, namespace, QUICK, fields=NOT_KUBERNETES_OWN))
            for _ in range(6)
        ]
        busy = [asyncio.create_task(write()), asyncio.create_task(disturb())]
        await asyncio.sleep(8)
        await until(lambda: proxy.faults() > 20 and sum(watch.counts.lists for watch, _ in watches) > len(watches))
        stop.set()
        await asyncio.gather(*busy)
        proxy.rules.clear()
        side.heal()
        truth = read_all(await client.list_all(CONFIG_MAPS, namespace, fields=NOT_KUBERNETES_OWN))
        for watch, seen in watches:
            await until(partial(knows, watch, truth), 120)
            assert seen.things == {thing.name: thing.value for thing in watch.records.values()}
    assert proxy.faults() > 20
    assert sum(watch.counts.lists for watch, _ in watches) > len(watches)
