"""What a decision costs after one finished Job: `python -m benchmarks.engine.plan_cost [SHAPE…] [--rounds 300]`.

CPU time of measuring and planning together, median and 99th percentile, in clusters that are full and have long queues.
"finished" is the cycle in which one Job has ended; "started" is the next one, which sees the starts of that cycle.
"first" is the first cycle of all: everything measured, and whatever has room started. "resized" is the cycle after the
capacity has changed, and with it what every group is promised; "edited" the one after an edit of one group's quota,
"labelled" the one after a flavor got another label.
"noticed" is the cycle after another Job has arrived, while so many workloads of one leaf are under notice for one Job.
"reference" is the same small piece of work beside each cycle: as far as it differs between two runs, the machine or the
interpreter does.

The tree has two levels with 20 leaves to a parent; every group has two flavors of three resources, with 500 flavors
each parent 50 of its own. A leaf's min is too
small for most of its Jobs, so that many starts borrow. Jobs that end are replaced at the end of their queue.
"""

import argparse
import gc
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from statistics import median
from typing import Final

from benchmarks.results.figures import Figure, record
from shared.kube.watch.memory import freeze_memory, keep_all_made
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings, ReclaimSettings
from shared.quota.model.tree import Entry, Group, QueueingStrategy, Tree
from shared.quota.model.workload import PodSet, Workload
from shared.quota.outlook.simulate.step import advance
from shared.resources import Amount, FlavorResource
from tests.builders import after, pending, running

FLAVORS: Final = ("a100", "t4")
FLAVORS_OF_PARENT: Final = 50
"""Of a shape with many flavors."""
UNIT: Final = {"cpu": 1000, "memory": 1000, "gpu": 1}
MIN: Final = 3
"""Units of each flavor that a leaf is promised."""
LEAVES_PER_PARENT: Final = 20
MOST_CYCLES: Final = 40
"""In which a new world comes to rest, or nearly so."""
EDITS: Final = 10
"""How many changes of the capacity, and of groups, are measured."""
REFERENCE: Final = 5_000
"""Jobs that the reference reads; they lie anywhere in memory, as what a cycle reads does."""


@dataclass(frozen=True)
class Shape:
    """One kind of full cluster."""

    jobs: int
    leaves: int
    queueing: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    all_sizes_differ: bool = False
    pod_sets: int = 1
    many_flavors: bool = False

    @property
    def parents(self) -> int:
        """How many groups hold leaves."""
        return max(1, self.leaves // LEAVES_PER_PARENT)

    def flavors_of(self, parent: int) -> tuple[str, ...]:
        """Return the flavors of one parent and its leaves."""
        if not self.many_flavors:
            return FLAVORS
        return tuple(f"f{parent * FLAVORS_OF_PARENT + number}" for number in range(FLAVORS_OF_PARENT))


SHAPES: Final = {
    "200-groups": Shape(10_000, 200),
    "200-groups-strict": Shape(50_000, 200, QueueingStrategy.STRICT_FIFO),
    "200-groups-all-sizes": Shape(10_000, 200, all_sizes_differ=True),
    "200-groups-pod-sets": Shape(10_000, 200, pod_sets=4),
    "200-groups-500-flavors": Shape(10_000, 200, all_sizes_differ=True, many_flavors=True),
    "one-leaf-all-sizes": Shape(50_000, 1, all_sizes_differ=True),
    "2000-groups": Shape(100_000, 2_000),
    "2000-groups-strict": Shape(100_000, 2_000, QueueingStrategy.STRICT_FIFO),
    "2000-groups-all-sizes": Shape(100_000, 2_000, all_sizes_differ=True),
}

VICTIMS: Final = {"500-victims": 500, "2000-victims": 2_000}


def tree_of(shape: Shape) -> Tree:
    """Parents, and the leaves below them."""
    groups = []
    below = shape.leaves // shape.parents
    for parent in range(shape.parents):
        flavors = shape.flavors_of(parent)
        groups.append(Group(f"p{parent}", is_parent=True, quotas=_quotas(flavors, MIN * below)))
        groups.extend(
            Group(f"p{parent}-{leaf}", f"p{parent}", quotas=_quotas(flavors, MIN), queueing=shape.queueing)
            for leaf in range(below)
        )
    return Tree.of(groups)


def _quotas(flavors: Sequence[str], units: int) -> tuple[Entry, ...]:
    least = {resource: amount * units for resource, amount in UNIT.items()}
    most = {resource: 5 * amount for resource, amount in least.items()}
    return tuple(Entry(flavor, min=least, max=most) for flavor in flavors)


class Cluster:
    """A full cluster in which Jobs end one at a time."""

    def __init__(self, shape: Shape) -> None:
        self._dice = Random(1)
        self._shape = shape
        self._made = 0
        tree = tree_of(shape)
        self._leaves = [name for name, group in tree.groups.items() if not group.is_parent]
        leaves_of = Counter(entry.flavor for name in self._leaves for entry in tree[name].quotas)
        capacity = tuple(
            (flavor, resource, MIN * leaves * amount)
            for flavor, leaves in leaves_of.items()
            for resource, amount in UNIT.items()
        )
        work = [self._job(self._leaves[number % shape.leaves]) for number in range(shape.jobs)]
        self.world = World.of(tree, map(Flavor, leaves_of), work, settings=QuotaSettings(capacity=capacity))
        self._snapshot: Snapshot | None = None
        self._cache = CycleCache()

    def decide(self) -> tuple[float, bool]:
        """Run one cycle and carry it out; return its CPU time in milliseconds, and whether it changed anything."""
        now = after(self._made)
        began = time.thread_time()
        self._snapshot = measure(self.world, now, self._snapshot)
        decided = plan(self._snapshot, self._cache)
        took = (time.thread_time() - began) * 1000
        self.world = advance(self.world, decided, now)
        return took, not decided.is_idle

    def finish_one(self) -> None:
        """Let one running Job end, and put a new one into its queue."""
        running: tuple[Workload, ...] = ()
        while not running:
            leaf = self._dice.choice(self._leaves)
            running = self.world.workloads_of(leaf).admitted
        self.world = self.world.with_changes([(self._dice.choice(running), None), (None, self._job(leaf))])

    def arrive(self) -> None:
        """Put one more Job into a queue."""
        self.world = self.world.with_changes([(None, self._job(self._dice.choice(self._leaves)))])

    def resize(self, units: int) -> None:
        """Let pods that are not managed use so many units of each flavor for every leaf."""
        capacity = self.world.settings.capacity
        unmanaged = {FlavorResource(flavor, resource): amount // MIN * units for flavor, resource, amount in capacity}
        self.world = replace(self.world, unmanaged=unmanaged)

    def edit(self, number: int) -> None:
        """Let that leaf lend nothing any more."""
        group = replace(self.world.tree[self._leaves[number % len(self._leaves)]], allow_lending=number % 2 == 1)
        self.world = replace(self.world, tree=self.world.tree.with_group(group))

    def label(self, number: int) -> None:
        """Give one flavor another label, which no Job minds."""
        name = min(self.world.flavors)
        self.world = replace(self.world, flavors={**self.world.flavors, name: Flavor(name, {"zone": str(number)})})

    def rest(self) -> None:
        """Decide until nothing changes any more, or nearly so."""
        for _ in range(MOST_CYCLES):
            if not self.decide()[1]:
                return

    def sample(self) -> list[Workload]:
        """Jobs drawn from the whole cluster, always the same ones."""
        everyone = [each for leaf in self._leaves for each in self.world.workloads_of(leaf).by_id.values()]
        return Random(1).choices(everyone, k=REFERENCE)

    def _job(self, leaf: str) -> Workload:
        self._made += 1
        dice, gpus = self._dice, self._dice.choice((1, 1, 2, 2, 4))
        if self._shape.all_sizes_differ:
            request = {"cpu": dice.randint(200, 4000), "memory": dice.randint(200, 4000), "gpu": gpus}
        else:
            request = {"cpu": dice.choice((500, 1000, 2000)), "memory": dice.choice((500, 1000, 4000)), "gpu": gpus}
        made = after(self._made)
        sets = split(request, self._shape.pod_sets) if self._shape.pod_sets > 1 else ()
        priority = dice.choice((0, 0, 0, 1))
        return pending(leaf, request, f"job-{self._made}", priority=priority, created=made, pod_sets=sets)


def split(request: Mapping[str, Amount], number: int) -> tuple[PodSet, ...]:
    """Return the request in so many pod sets, as equal as whole numbers allow."""
    parts = ({name: (amount + at) // number for name, amount in request.items()} for at in range(number))
    return tuple(
        PodSet(f"set-{at}", {name: amount for name, amount in part.items() if amount}) for at, part in enumerate(parts)
    )


def measured(shape: Shape, rounds: int) -> Iterator[tuple[str, list[float]]]:
    """Yield what is measured, and its CPU times in milliseconds."""
    cluster = Cluster(shape)
    freeze_memory()  # as the reconciler does between its first sync and its first decision
    with keep_all_made():
        first = cluster.decide()[0]
    yield "first", [first]
    cluster.rest()
    sample = cluster.sample()
    freeze_memory()
    finished, started, reference = [], [], []
    for _ in range(rounds):
        cluster.finish_one()
        took, changes = cluster.decide()
        finished.append(took)
        while changes:
            took, changes = cluster.decide()
            started.append(took)
        reference.append(time_to_read(sample))
    yield "finished", finished
    yield "started", started or [0.0]
    yield "reference", reference
    for what, change in (("resized", cluster.resize), ("edited", cluster.edit), ("labelled", cluster.label)):
        spent = []
        for number in range(EDITS):
            change(number % 2 if what == "resized" else number)
            spent.append(cluster.decide()[0])
            cluster.rest()
        yield what, spent


def noticed(victims: int, rounds: int) -> Iterator[tuple[str, list[float]]]:
    """Yield the CPU times of cycles in which so many small Jobs are under notice, for one large one."""
    tree = Tree.of(
        Group(name, quotas=(Entry("a100", min={"cpu": least}),))
        for name, least in (("owner", victims), ("borrower", 0))
    )
    small = [
        running("borrower", {"cpu": 1}, f"small-{number}", "a100", since=after(number)) for number in range(victims)
    ]
    notice = QuotaSettings(capacity=(("a100", "cpu", victims),), reclaim=ReclaimSettings(notice=timedelta(hours=10)))
    world = World.of(tree, [Flavor("a100")], [*small, pending("owner", {"cpu": victims}, "large")], settings=notice)
    sample = Cluster(SHAPES["200-groups"]).sample()
    snapshot, cache, spent, reference = None, CycleCache(), list[float](), list[float]()
    freeze_memory()
    for number in range(rounds + 2):
        now = after(victims + number)
        began = time.thread_time()
        snapshot = measure(world, now, snapshot)
        decided = plan(snapshot, cache)
        spent.append((time.thread_time() - began) * 1000)
        new = pending("borrower", {"cpu": 1}, f"new-{number}", created=now)
        world = advance(world, decided, now).with_changes([(None, new)])
        reference.append(time_to_read(sample))
    yield "noticed", spent[2:]
    yield "reference", reference


def time_to_read(workloads: list[Workload]) -> float:
    """CPU time in milliseconds to add up what these request."""
    began = time.thread_time()
    total: dict[str, Amount] = {}
    for each in workloads:
        for resource, amount in each.request.items():
            total[resource] = total.get(resource, 0) + amount
    return (time.thread_time() - began) * 1000


BARS: Final = {"200-groups": 10.0, "2000-groups": 30.0, "500-victims": 10.0, "2000-victims": 30.0}
"""What a shape's name begins with → milliseconds, median and 99th percentile."""
FIRST_BAR: Final = 8.0
"""Seconds."""
EDIT_BAR: Final = 100.0


def figures_of(shape: str, what: str, spent: Sequence[float], p99: float) -> list[Figure]:
    """Return the figures of one line."""
    place = f"plan_cost.{shape}.{what}"
    if what == "first":
        return [Figure(place, spent[0] / 1000, "s", at_most=FIRST_BAR)]
    bars = {"edited": EDIT_BAR} | dict.fromkeys(
        ("finished", "started", "noticed"), next((bar for name, bar in BARS.items() if shape.startswith(name)), None)
    )
    found = Figure(place, median(spent), "ms", at_most=bars.get(what))
    return [found, Figure(f"{place}.p99", p99, "ms", at_most=bars.get(what))] if what in MANY else [found]


MANY: Final = ("finished", "started", "noticed")
"""What is measured often enough for a 99th percentile."""


def main() -> None:
    """Print one line per shape and cycle."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = (*SHAPES, *VICTIMS)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"some of {', '.join(known)}")
    parser.add_argument("--rounds", type=int, default=300)
    requested = parser.parse_args()
    names = requested.shapes or known
    if unknown := set(names).difference(known):
        parser.error(f"unknown shape {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    for name in names:
        rounds = requested.rounds
        rows = noticed(VICTIMS[name], rounds) if name in VICTIMS else measured(SHAPES[name], rounds)
        for what, spent in rows:
            spent.sort()
            last = spent[min(len(spent) * 99 // 100, len(spent) - 1)]
            record(*figures_of(name, what, spent, last))
            print(f"{name:<22}{what:<11}{median(spent):9.2f} ms median{last:9.2f} ms p99", flush=True)
        gc.unfreeze()


if __name__ == "__main__":
    main()
