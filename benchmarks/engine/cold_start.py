"""How calm a cold start is: evictions against starts on four clusters made from a public trace.

    python -m benchmarks.engine.cold_start [--trace N…] [--borrow] [--write FOLDER]

Each cluster has the 1,213 nodes of `dev/openb`, a tree of 55 groups in two levels and 6,500 to 8,800 jobs that all wait
at once. It is run as `quotree simulate --until-stable` runs it. `--borrow` sets `whenCanBorrow: Borrow` in every group;
`--write` writes the manifests instead of running them.
"""

import argparse
import gc
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from benchmarks.results.figures import Figure, record
from cli.read.manifests import Manifest
from cli.read.objects import sort_objects
from cli.read.workloads import read_workloads
from cli.read.world import build_world
from dev.openb import manifests
from dev.openb.records import NodeRecord, PodRecord, read_nodes, read_pods
from shared.api import names
from shared.quota.measure.inputs.world import World
from shared.quota.model.settings import QuotaSettings
from shared.quota.outlook.simulate.run import SimulationRun, run

TRACES: Final = {1: 6500, 2: 7300, 3: 8100, 4: 8800}
"""Number of a cluster, which is also the seed of its tree -> how many jobs it has."""
PARENTS: Final = 10
LEAVES: Final = 45
RESOURCES: Final = ("cpu", "memory", manifests.GPU)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)

Object = dict[str, Any]
Shares = dict[str, dict[str, int]]
"""flavor -> resource -> amount in cores, GiB or devices."""


def objects_of(trace: int, *, borrow: bool) -> Iterator[Object]:
    """Yield every manifest of one cluster."""
    dice, nodes = Random(trace), list(read_nodes())
    yield from manifests.priority_classes()
    yield from (manifests.flavor(model) for model in manifests.by_model(nodes))
    yield from (manifests.node(record) for record in nodes)
    leaves = {f"team-{index:02}": f"dept-{index % PARENTS}" for index in range(LEAVES)}
    yield from _groups(dice, capacity_of(nodes), leaves, borrow=borrow)
    yield from _jobs(dice, TRACES[trace], list(leaves))


def capacity_of(nodes: Iterable[NodeRecord]) -> Shares:
    """Return what all nodes of each flavor have together."""
    found: Shares = {}
    for node in nodes:
        of_flavor = found.setdefault(manifests.flavor_name(node.model), dict.fromkeys(RESOURCES, 0))
        for resource, amount in zip(
            RESOURCES, (node.cpu_milli // 1000, node.memory_mib // 1024, node.gpus), strict=True
        ):
            of_flavor[resource] += amount
    return found


def _groups(dice: Random, capacity: Shares, leaves: Mapping[str, str], *, borrow: bool) -> Iterator[Object]:
    """Leaves with most flavors in an order of their own, promised 90 % of the cluster; parents with the sums."""
    orders = {leaf: _some_flavors(dice, sorted(capacity)) for leaf in leaves}
    sizes = {leaf: dice.choice((1, 1, 2, 3, 5)) for leaf in leaves}
    least = {leaf: _share(capacity, orders[leaf], leaf, sizes, orders) for leaf in leaves}
    for parent in sorted(set(leaves.values())):
        together: Shares = {}
        for leaf in (each for each, its_parent in leaves.items() if its_parent == parent):
            for flavor, amounts in least[leaf].items():
                total = together.setdefault(flavor, dict.fromkeys(RESOURCES, 0))
                total.update({resource: total[resource] + amount for resource, amount in amounts.items()})
        yield _group(parent, "root", together, 4, {"isParent": True})
    for leaf, parent in leaves.items():
        yield _group(leaf, parent, least[leaf], 4, {"flavorFungibility": {"whenCanBorrow": "Borrow"}} if borrow else {})


def _some_flavors(dice: Random, flavors: list[str]) -> list[str]:
    return dice.sample(flavors, dice.randint(4, len(flavors)))


def _share(
    capacity: Shares, order: list[str], leaf: str, sizes: Mapping[str, int], orders: Mapping[str, list[str]]
) -> Shares:
    found: Shares = {}
    for flavor in order:
        rivals = sum(size for other, size in sizes.items() if flavor in orders[other])
        found[flavor] = {
            resource: amount * 9 * sizes[leaf] // (10 * rivals) for resource, amount in capacity[flavor].items()
        }
    return found


def _group(name: str, parent: str, least: Shares, factor: int, more: Object) -> Object:
    quotas = [
        {"flavor": flavor, "min": _texts(amounts, 1), "max": _texts(amounts, factor)}
        for flavor, amounts in least.items()
    ]
    spec = {"parent": parent, "quotas": quotas, **more}
    return {"apiVersion": names.API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


def _texts(amounts: Mapping[str, int], factor: int) -> dict[str, str]:
    units = {"memory": "Gi"}
    return {resource: f"{amount * factor}{units.get(resource, '')}" for resource, amount in amounts.items()}


def _jobs(dice: Random, number: int, leaves: list[str]) -> Iterator[Object]:
    records = list(read_pods())
    records += dice.sample(records, max(0, number - len(records)))
    weights = [dice.choice((1, 2, 4)) for _ in leaves]
    for index, pod in enumerate(dice.sample(records, number)):
        yield _job(pod, index, dice.choices(leaves, weights)[0])


def _job(record: PodRecord, index: int, leaf: str) -> Object:
    job = manifests.job(record, namespace=leaf, group=leaf)
    job["metadata"] |= {"name": f"{record.name}-{index}", "creationTimestamp": START.isoformat()}
    return job


def build(objects: Iterable[Object]) -> World:
    """Return the engine's world of these manifests, read as the command line reads them."""
    read = sort_objects(_manifest(each) for each in objects)
    settings = QuotaSettings()
    return build_world(read, read_workloads(read, settings), settings, START)


def _manifest(body: Object) -> Manifest:
    meta = body["metadata"]
    return Manifest(body["kind"], body["apiVersion"], meta["name"], meta.get("namespace"), body, "generated", 1, "")


def _print(trace: int, outcome: SimulationRun, seconds: float, bar: tuple[str, float]) -> None:
    starts = sum(len(plan.starts) for plan in outcome.plans)
    evictions = Counter(evict.rule.value for plan in outcome.plans for evict in plan.evictions)
    gone = sum(evictions.values())
    setting, most = bar
    place = f"cold_start.{TRACES[trace]}.{setting}"
    record(Figure(f"{place}.evictions", gone), Figure(f"{place}.share", 100 * gone / starts, "%", at_most=most))
    running = sum(len(leaf.admitted) for leaf in outcome.snapshot.leaves.values())
    print(
        f"trace {trace}: {TRACES[trace]} jobs, {running} running, {starts} starts, {gone} evictions "
        f"({100 * gone / starts:.2f} %) {dict(evictions)}, {len(outcome.plans)} cycles, {seconds:.1f} s of CPU",
        flush=True,
    )


def main() -> None:
    """Run or write the clusters that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=int, nargs="*", choices=list(TRACES), default=list(TRACES))
    parser.add_argument("--borrow", action="store_true")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    gc.disable()
    for trace in options.trace:
        objects = objects_of(trace, borrow=options.borrow)
        if options.write is not None:
            options.write.mkdir(parents=True, exist_ok=True)
            path = options.write / f"trace-{trace}.json"
            path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
            continue
        world = build(objects)
        began = time.process_time()
        outcome = run(world, START)
        bar = ("Borrow", 4.0) if options.borrow else ("TryNextFlavor", 0.5)
        _print(trace, outcome, time.process_time() - began, bar)


if __name__ == "__main__":
    main()
