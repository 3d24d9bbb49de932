"""What one change costs to measure among 2,000 groups and 100,000 jobs: `python -m benchmarks.engine.measuring`."""

import gc
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from statistics import median

from benchmarks.results.figures import Figure, record
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.builders import NOW, pending, running

FLAVORS = ("a100", "t4")
AMOUNTS = {"cpu": 10, "memory": 100, "gpu": 1}
ROUNDS = 50


def large_tree() -> Tree:
    """20 parents of 10 parents of 9 leaves, every one with two flavors of three resources."""
    groups = []
    for top in range(20):
        groups.append(Group(f"p{top}", is_parent=True, quotas=_quotas(180)))
        for middle in range(10):
            groups.append(Group(f"p{top}-{middle}", f"p{top}", is_parent=True, quotas=_quotas(18)))
            groups.extend(Group(f"l{top}-{middle}-{leaf}", f"p{top}-{middle}", quotas=_quotas(2)) for leaf in range(9))
    return Tree.of(groups)


def _quotas(share: int) -> tuple[Entry, ...]:
    least = {resource: amount * share for resource, amount in AMOUNTS.items()}
    most = {resource: 20 * amount for resource, amount in least.items()}
    return tuple(Entry(flavor, min=least, max=most) for flavor in FLAVORS)


def large_world(jobs: int = 100_000) -> World:
    """Capacity is what the leaves are promised; one job in fifty runs."""
    dice, tree = Random(1), large_tree()
    leaves = [name for name, group in tree.groups.items() if not group.is_parent]
    capacity = tuple(
        (flavor, resource, 2 * 1800 * amount) for flavor in FLAVORS for resource, amount in AMOUNTS.items()
    )
    work = [_job(dice, leaves[index % len(leaves)], f"job-{index}") for index in range(jobs)]
    return World.of(tree, [Flavor(name) for name in FLAVORS], work, settings=QuotaSettings(capacity=capacity))


def _job(dice: Random, group: str, name: str) -> Workload:
    request = {
        "cpu": dice.choice((10, 20, 40)),
        "memory": dice.choice((10, 20, 50, 64, 128)),
        "gpu": dice.choice((1, 2)),
    }
    if dice.random() < 0.02:
        return running(group, request, name, flavors="a100", priority=dice.randint(0, 3))
    return pending(group, request, name, priority=dice.randint(0, 3))


def starts(world: World, index: int) -> World:
    """Start one pending job."""
    job = next(filter(None, (workloads.queue for workloads in list(world.workload_sets.values())[index:])))[0]
    return world.with_changes([(job, running(job.group, job.request, job.key.removeprefix("ns/"), flavors="a100"))])


def arrives(world: World, index: int) -> World:
    """Create one job."""
    group = list(world.workload_sets)[7 * index]
    return world.with_changes([(None, pending(group, {"cpu": 10, "gpu": 1}, f"new-{index}"))])


def grows(world: World, index: int) -> World:
    """Unmanaged pods use a little more."""
    return replace(world, unmanaged={FlavorResource("a100", "cpu"): index})


def edits(world: World, index: int) -> World:
    """Edit the quota of one group."""
    group = world.tree[list(world.workload_sets)[3 * index]]
    return replace(world, tree=world.tree.with_group(replace(group, allow_lending=False)))


def milliseconds(world: World, snapshot: Snapshot, change: Callable[[World, int], World]) -> list[float]:
    """CPU time of measuring, one change at a time."""
    found = []
    for index in range(ROUNDS):
        world = change(world, index)
        begun = time.thread_time()
        snapshot = measure(world, NOW, snapshot)
        found.append((time.thread_time() - begun) * 1000)
    return found


def main() -> None:
    """Print one line per kind of change."""
    gc.set_threshold(50_000, 20, 100)
    begun = time.thread_time()
    world = large_world()
    built = time.thread_time()
    snapshot = measure(world, NOW)
    print(f"{'world built':<16}{(built - begun) * 1000:9.1f} ms")
    first = time.thread_time()
    print(f"{'first measure':<16}{(first - built) * 1000:9.1f} ms")
    record(Figure("measuring.world", built - begun, "s"), Figure("measuring.first", first - built, "s"))
    gc.collect()
    gc.freeze()
    for change in (starts, arrives, grows, edits):
        spent = milliseconds(world, snapshot, change)
        record(
            Figure(f"measuring.{change.__name__}", median(spent), "ms"),
            Figure(f"measuring.{change.__name__}.worst", max(spent), "ms"),
        )
        print(f"{change.__name__:<16}{median(spent):9.2f} ms median{max(spent):9.2f} ms worst")


if __name__ == "__main__":
    main()
