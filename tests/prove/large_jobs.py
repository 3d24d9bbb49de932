"""Leaves with endless queues of jobs that end at different times, some larger than their leaf's share, lived through.

`python -m tests.prove.large_jobs` prints what each leaf has used; the tests judge the same runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.step import carry_out, end_evictions
from tests.builders import pending, world
from tests.prove.fairness import HALF_LIFE, STEP
from tests.shared.quota.reference.inputs import EPOCH
from tests.trees import KEY, capacity_in, tree

QUEUE = 12
"""How many jobs of each leaf wait: all of them have waited for their leaf's patience."""
PATIENCE = timedelta(minutes=1)
SHORTEST_RUN, LONGEST_RUN = 4, 8
"""So many cycles a job runs."""


@dataclass(frozen=True)
class Course:
    """What has happened: GPUs in use on average, by group; evictions; turns that have begun."""

    used: Mapping[str, Fraction]
    evictions: int
    turns: int
    taken_by_turns: int
    """Evictions from a leaf that used no more than it would have without turns."""
    gathering: int
    """The most cycles between the beginning of a turn and its workload's start, or the end of the run."""

    @property
    def all_used(self) -> Fraction:
        """What is in use on average in all."""
        return self.used[ROOT]


def run(drawn: str, sizes: Mapping[str, int], cycles: int = 700, restarts_at: int | None = None) -> Course:
    """Run that many cycles. `restarts_at`: from this cycle on a process decides that has seen none before."""
    groups = tree(drawn)
    cluster = _with_patience(world(groups))
    history, cache, snapshot = UseHistory(HALF_LIFE), CycleCache(), None
    sums, made, now = dict.fromkeys(groups.groups, 0), 0, EPOCH
    evictions, turns, taken = 0, 0, 0
    begun, gathering = dict[str, int](), 0
    for number in range(cycles):
        cluster = end_evictions(cluster).with_changes((each, None) for each in _ended(cluster, sizes, now))
        for leaf, size in sizes.items():
            for _ in range(QUEUE - len(cluster.workloads_of(leaf).queue)):
                made += 1
                cluster = cluster.with_changes([(None, pending(leaf, size, f"w{made:06}", created=now - PATIENCE))])
        history = history.after(cluster, now)
        if number == restarts_at:
            history, cache, snapshot = UseHistory.read(HALF_LIFE, history.amounts, now), CycleCache(), None
            history = history.after(cluster, now)
        snapshot = measure(replace(cluster, past_use=history.amounts), now, snapshot)
        decided = plan(snapshot, cache)
        cluster = carry_out(snapshot.world, decided)
        history = history.after(cluster, now)
        evictions += len(decided.evictions)
        taken += sum(_has_no_more_than_without(decided.end.snapshot, each.workload) for each in decided.evictions)
        turns += len(decided.turns_begun) + sum(each.workload.turn is not None for each in decided.starts)
        gathering = max([gathering, *(number - since for since in begun.values())])
        begun = _gathering(begun, decided, number)
        _add(sums, measure(cluster, now, snapshot))
        now += STEP
    used = {name: Fraction(amount, cycles) for name, amount in sums.items()}
    return Course(used, evictions, turns, taken, gathering)


def _with_patience(cluster: World) -> World:
    settings = replace(cluster.settings, queueing_patience=PATIENCE, capacity=capacity_in(cluster.tree))
    return replace(cluster, settings=settings)


def _ended(cluster: World, sizes: Mapping[str, int], now: datetime) -> list[Workload]:
    """Return the jobs that have run for their time."""
    running = [each for leaf in sizes for each in cluster.workloads_of(leaf).admitted]
    return [each for each in running if each.admission and now >= each.admission.since + STEP * _cycles_of(each)]


def _cycles_of(job: Workload) -> int:
    """Return how long the job runs, as its number says."""
    return SHORTEST_RUN + int(job.key[-6:]) * 7 % (LONGEST_RUN - SHORTEST_RUN + 1)


def _has_no_more_than_without(snapshot: Snapshot, victim: Workload) -> bool:
    before = snapshot.before_turns.of(victim.group, KEY)
    return before.used <= before.runtime


def _gathering(begun: Mapping[str, int], decided: Plan, number: int) -> dict[str, int]:
    """Return the cycle in which the turn of each workload began that still waits for its room."""
    gone = {each.workload.key for each in decided.starts} | {each.key for each in decided.turns_ended}
    known = {**begun, **{each.workload.key: number for each in decided.turns_begun}}
    return {key: since for key, since in known.items() if key not in gone}


def _add(sums: dict[str, int], snapshot: Snapshot) -> None:
    for name in sums:
        found = snapshot.numbers.get(name, {}).get(KEY)
        sums[name] += 0 if found is None else found.used


CASES: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "jobs of 1 and of 3, four GPUs": ("root 4\n  a 0 w1\n  b 0 w1", {"a": 1, "b": 3}),
    "weights three to one": ("root 4\n  a 0 w3\n  b 0 w1", {"a": 1, "b": 3}),
    "jobs of 1 and of 6, ten GPUs": ("root 10\n  a 0 w1\n  b 0 w1", {"a": 1, "b": 6}),
    "beside a min in use": ("root 6\n  m 2 w0\n  a 0 w1\n  b 0 w1", {"m": 1, "a": 1, "b": 3}),
    "a min leaves too little": ("root 4\n  a 2 w1\n  b 0 w1", {"a": 1, "b": 3}),
    "two levels": (
        "root 8\n  p/ 0 w1\n    p1 0 w1\n    p2 0 w1\n  q/ 0 w1\n    q1 0 w1\n    q2 0 w1",
        {"p1": 1, "p2": 3, "q1": 1, "q2": 1},
    ),
    "short at two levels": ("root 4\n  p/ 0 w1\n    p1 0 w1\n    p2 0 w1\n  q 0 w1", {"p1": 1, "p2": 3, "q": 1}),
    "short at two levels, two siblings": (
        "root 6\n  p/ 0 w1\n    p1 0 w1\n    p2 0 w1\n    p3 0 w1\n  q 0 w1",
        {"p1": 1, "p2": 4, "p3": 1, "q": 1},
    ),
    "short at three levels": (
        "root 8\n  p/ 0 w1\n    r/ 0 w1\n      r1 0 w1\n      r2 0 w1\n    p1 0 w1\n  q 0 w1",
        {"r1": 1, "r2": 6, "p1": 1, "q": 1},
    ),
}


def main() -> None:
    """Print the figures."""
    for case, (drawn, sizes) in CASES.items():
        course = run(drawn, sizes)
        used = {name: round(float(amount), 2) for name, amount in course.used.items()}
        end = f"{course.turns} turns, {course.evictions} evictions, room gathers for {course.gathering} cycles at most"
        print(f"{case}: used {used}, {end}")


if __name__ == "__main__":
    main()
