"""Endless queues lived through: what each leaf gets over time, beside its share by weight.

`python -m tests.prove.fairness` prints a table; the tests judge the same runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from shared.quota.outlook.simulate.step import carry_out, end_evictions
from tests.builders import pending
from tests.shared.quota.reference.inputs import EPOCH
from tests.trees import GPU

STEP = timedelta(seconds=10)
HALF_LIFE = timedelta(hours=1)


@dataclass(frozen=True)
class Demand:
    """An endless queue of one leaf: jobs of that many GPUs, each running for that many cycles."""

    weight: int
    size: int
    runs_for: int


@dataclass(frozen=True)
class Served:
    """`used`: GPU-cycles by leaf; `evictions`: how many workloads were evicted; `capacity`, `cycles`: as asked for."""

    demands: Mapping[str, Demand]
    used: Mapping[str, int]
    evictions: int
    capacity: int
    cycles: int

    def share(self, leaf: str) -> Fraction:
        """What is due to the leaf by weight, in GPU-cycles, of all that was used."""
        weights = sum(each.weight for each in self.demands.values())
        return Fraction(sum(self.used.values()) * self.demands[leaf].weight, weights)

    def behind(self, leaf: str) -> Fraction:
        """By how many of the largest jobs the leaf is behind its share; negative: ahead."""
        largest = max(each.size * each.runs_for for each in self.demands.values())
        return (self.share(leaf) - self.used[leaf]) / largest


def serve(demands: Mapping[str, Demand], capacity: int, cycles: int) -> Served:
    """Run that many cycles; every leaf always has more jobs waiting than the cluster could run."""
    entries = {name: Entry("default", min={GPU: 0}, weight={GPU: each.weight}) for name, each in demands.items()}
    groups = [Group(name, quotas=(entry,)) for name, entry in entries.items()]
    settings = QuotaSettings(capacity=(("default", GPU, capacity),))
    world = World.of(Tree.of(groups), [Flavor("default")], settings=settings)
    history, cache, snapshot = UseHistory(HALF_LIFE), CycleCache(), None
    used, evictions, made, now = dict.fromkeys(demands, 0), 0, 0, EPOCH
    for _ in range(cycles):
        world = end_evictions(world).with_changes(
            (each, None)
            for name, demand in demands.items()
            for each in world.workloads_of(name).admitted
            if each.admission is not None and now >= each.admission.since + STEP * demand.runs_for
        )
        for name, demand in demands.items():
            for _ in range(capacity // demand.size + 1 - len(world.workloads_of(name).queue)):
                made += 1
                job = pending(name, demand.size, f"w{made:06}", created=now)
                world = world.with_changes([(None, job)])
        history = history.after(world, now)
        world = replace(world, past_use=history.amounts)
        snapshot = measure(world, now, snapshot)
        decided = plan(snapshot, cache)
        world = carry_out(world, decided)
        evictions += len(decided.evictions)
        history = history.after(world, now)
        for name in demands:
            running = world.workloads_of(name).admitted
            used[name] += sum(each.request[GPU] for each in running)
        now += STEP
    return Served(demands, used, evictions, capacity, cycles)


CASES = {
    "twelve equal leaves, six GPUs": ({f"l{number:02}": Demand(1, 1, 6) for number in range(12)}, 6),
    "three leaves, ten GPUs, jobs of four": ({name: Demand(1, 4, 5) for name in "abc"}, 10),
    "weights two to one": ({"a": Demand(2, 1, 4), "b": Demand(1, 1, 4)}, 4),
    "weights two to one, one GPU": ({"a": Demand(2, 1, 3), "b": Demand(1, 1, 3)}, 1),
    "five leaves, two GPUs, different lengths": (
        {name: Demand(1, 1, 3 + 2 * place) for place, name in enumerate("abcde")},
        2,
    ),
    "a fraction of a unit": ({f"l{number}": Demand(1, 1, 5) for number in range(7)}, 3),
}


def main() -> None:
    """Print the table."""
    for case, (demands, capacity) in CASES.items():
        served = serve(demands, capacity, 1500)
        behind = {name: round(float(served.behind(name)), 2) for name in demands}
        print(f"{case}: used {dict(served.used)}, jobs behind the share {behind}, {served.evictions} evictions")


if __name__ == "__main__":
    main()
