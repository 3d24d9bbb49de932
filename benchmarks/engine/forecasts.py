"""How right forecasts are, on a public trace: `python -m benchmarks.engine.forecasts [--error MODEL] [--samples N]`.

The trace openb (docs/replay.md) is lived through under docs/replay/openb-tree.yaml with too little capacity, so that
queues form; a workload runs as long as it did. At evenly spaced moments the waiting workloads are forecast as in a
cluster, and compared with when they start in the same replay.

What owners declare is an error model: `exact`, the true run time; `over`, 1, 1.5, 2, 3, 5 or 10 times that, as users of
batch systems do; `none`, nothing is declared, and past runs tell alone. The run times of workloads that have ended are
known, as the status of their group has them (docs/specification.md §9.8); nothing of those that run or wait is. Two of
a group at each moment are also kept as the reconciler keeps them, and correct later forecasts once they have started.

Coverage: how many start within their interval, of those that a forecast is given for and that start in the trace. By
terciles of how much cpu they request (`--size`). Error: the median distance of the middle of the interval from the
start, beside that of the trivial forecast "those before it in its group, over its group's starts per hour in the last
24 hours".

`--trace`, `--mapping` and `--tree` name another table of jobs, as `quotree replay` takes them.

`--cost`: instead, the CPU time of one forecast of all that waits in the full cluster "200-groups" of plan_cost, in
which 10,000 Jobs run or wait, each with an expected run time of 10 minutes to 2 hours.
"""

import argparse
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from benchmarks.engine.plan_cost import SHAPES, Cluster
from benchmarks.results.figures import Figure, record
from cli.read.manifests import read_manifests
from cli.read.questions import read_question, read_settings
from cli.replay.mapping import LogMapping
from cli.replay.past import PastLog, PastWorkload
from cli.replay.table import read_table
from shared.api.owner_settings import OwnRunTime
from shared.process.settings import load_settings
from shared.quota.measure.accounts.leaf_use import run_of
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.run_times import NO_RUN_TIMES, LeafRunTimes
from shared.quota.measure.accounts.waits import ForeseenWaits
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.forecast.checks import ForeseenStarts, foreseen_starts
from shared.quota.outlook.forecast.forecast import Forecast, Foreseen
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.simulate.timeline import Arrival, Moment, Timeline
from tests.builders import after

ROOT: Final = Path(__file__).parents[2]
TRACE: Final = ROOT / "dev" / "openb" / "data" / "openb_pods.csv"
CAPACITY: Final = "default:cpu=20000,default:memory=80Ti,default:nvidia.com/gpu=30"
GATHERED: Final = timedelta(seconds=1)
OVER: Final = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
MOST_ASKED: Final = 20
"""So many of the workloads that wait at one moment are asked about."""
DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Asked:
    """One forecast: what was said at `at`, and what the trivial forecast says."""

    workload: Workload
    at: datetime
    foreseen: Foreseen | None
    trivial: datetime | None


def busy_part(log: PastLog) -> PastLog:
    """Return the last part of the trace, in which most of its workloads came."""
    came = sorted(each.workload.created for each in log.workloads)
    begin = came[len(came) // 10]
    kept = tuple(each for each in log.workloads if each.workload.created >= begin)
    return replace(log, begin=begin, workloads=kept)


class Seen:
    """What a cluster knows as time passes: starts of each group, and run times of what has ended."""

    def __init__(self) -> None:
        self.run_times: dict[str, LeafRunTimes] = {}
        self.first: dict[WorkloadId, datetime] = {}
        """When each workload first started."""
        self._latest: dict[WorkloadId, datetime] = {}
        self._starts: dict[str, list[datetime]] = {}
        self._foreseen: dict[str, ForeseenWaits] = {}

    def foresee(self, snapshot: Snapshot, found: ForeseenStarts) -> None:
        """Keep forecasts to see how right they are."""
        for group, own in found.items():
            self._foreseen.setdefault(group, ForeseenWaits()).keep(own, snapshot.world.workloads_of(group))

    def note(self, moment: Moment) -> None:
        """Learn from what happens at a moment."""
        for each in moment.ended:
            begun = self._latest.get(each.id)
            if begun is not None:
                run = run_of(each, (each.key, milliseconds(begun)), milliseconds(moment.now))
                self.run_times[each.group] = self.run_times.get(each.group, NO_RUN_TIMES).after(run)
        for start in (each for plan in moment.plans for each in plan.starts):
            self._latest[start.workload.id] = moment.now
            self.first.setdefault(start.workload.id, moment.now)
            self._starts.setdefault(start.workload.group, []).append(moment.now)
            self._note_wait(start.workload, moment.now)

    def _note_wait(self, workload: Workload, start: datetime) -> None:
        foreseen = self._foreseen.get(workload.group, ForeseenWaits()).ended(workload.id, milliseconds(start))
        if foreseen is not None:
            known = self.run_times.get(workload.group, NO_RUN_TIMES)
            self.run_times[workload.group] = known.after_wait(foreseen)

    def trivial(self, group: str, before: int, now: datetime) -> datetime | None:
        """Return when the workload with so many before it starts by its group's starts of the last 24 hours."""
        starts = self._starts.get(group, [])
        lately = len(starts) - bisect_right(starts, now - DAY)
        return now + DAY / lately * (before + 1) if lately else None


def declared(log: PastLog, error: str) -> PastLog:
    """Return the log with what owners declare."""
    dice = Random(1)

    def with_word(past: PastWorkload) -> PastWorkload:
        factor = {"exact": 1.0, "over": dice.choice(OVER)}.get(error)
        if factor is None or past.run_time is None:
            return past
        own = OwnRunTime(past.run_time * factor)
        return replace(past, workload=replace(past.workload, run_time=own))

    return replace(log, workloads=tuple(map(with_word, log.workloads)))


def asked_in(log: PastLog, world: World, samples: int, steps: int) -> tuple[list[Asked], Mapping[WorkloadId, datetime]]:
    """Live through the log; return what is forecast at evenly spaced moments, and when each workload first started."""
    came = [each for each in log.workloads if each.run_time is not None]
    arrivals = [Arrival(each.workload.created, each.workload, each.run_time) for each in came]
    seen, dice, asked = Seen(), Random(2), list[Asked]()
    between, due, cost = (log.end - log.begin) / samples, log.begin, list[float]()
    for moment in Timeline(world, log.begin).live(arrivals, log.end, GATHERED):
        seen.note(moment)
        waiting = _waiting(moment.snapshot, seen) if moment.now >= due else []
        if waiting:
            began, due = time.thread_time(), moment.now + between
            asked += _ask(moment.snapshot, waiting, seen, dice, steps)
            cost.append(time.thread_time() - began)
            seen.foresee(moment.snapshot, foreseen_starts(moment.snapshot, seen.run_times))
    if cost:
        record(Figure("forecasts.cpu", median(cost), "s"), Figure("forecasts.cpu.worst", max(cost), "s"))
        print(f"{len(cost)} moments, {len(asked)} forecasts; CPU {median(cost):.2f} s each, at most {max(cost):.2f} s")
    return asked, seen.first


def _waiting(snapshot: Snapshot, seen: Seen) -> list[tuple[Workload, int]]:
    """Return what has never started and waits, with how many of its leaf are before it."""
    leaves = snapshot.leaves.values()
    queues = ((each, place) for leaf in leaves for place, each in enumerate(leaf.pending))
    return [(each, place) for each, place in queues if each.id not in seen.first]


def _ask(
    snapshot: Snapshot, waiting: Sequence[tuple[Workload, int]], seen: Seen, dice: Random, steps: int
) -> Iterator[Asked]:
    chosen = dice.sample(waiting, min(MOST_ASKED, len(waiting)))
    forecast = Forecast(snapshot, seen.run_times, {each.id for each, _ in chosen}, steps)
    for workload, before in chosen:
        found = forecast.of(workload)
        foreseen = found if isinstance(found, Foreseen) else None
        yield Asked(workload, snapshot.now, foreseen, seen.trivial(workload.group, before, snapshot.now))


def report(asked: Sequence[Asked], started: Mapping[WorkloadId, datetime], size: str) -> None:
    """Print coverage and errors: of all, and by terciles of size."""
    judged = [each for each in asked if each.workload.id in started]
    ordered = sorted(judged, key=lambda each: (each.workload.request.get(size, 0), each.workload.key, each.at))
    third = -(-len(ordered) // 3)
    parts = [ordered[at * third : (at + 1) * third] for at in range(3)]
    titles = ("asked", "given", "covered", "error", "trivial", "both", "wait")
    print(f"{'':10}", *(f"{each:>9}" for each in titles))
    for name, part in zip(("all", "small", "middle", "large"), (ordered, *parts), strict=True):
        _row(name, part, started)


def _row(name: str, part: Sequence[Asked], started: Mapping[WorkloadId, datetime]) -> None:
    given = [(each, each.foreseen, started[each.workload.id]) for each in part if each.foreseen is not None]
    covered = sum(foreseen.earliest <= at <= foreseen.latest for _, foreseen, at in given)
    both = [(foreseen, each.trivial, at) for each, foreseen, at in given if each.trivial is not None]
    errors = [abs(_middle(foreseen) - at) for foreseen, _, at in both]
    trivial = [abs(guess - at) for _, guess, at in both]
    waits = [at - each.at for each, _, at in given]
    share = f"{100 * covered / len(given):.0f} %" if given else "-"
    numbers = (str(len(part)), str(len(given)), share, _hours(errors), _hours(trivial), str(len(both)), _hours(waits))
    print(f"{name:10}", *(f"{each:>9}" for each in numbers))
    if errors:
        record(*_figures(name, part, covered / len(given), errors, trivial))


def _figures(
    name: str, part: Sequence[Asked], covered: float, errors: Sequence[timedelta], trivial: Sequence[timedelta]
) -> Iterator[Figure]:
    hours = [median(each / timedelta(hours=1) for each in times) for times in (errors, trivial)]
    yield Figure(f"forecasts.{name}.asked", len(part))
    yield Figure(f"forecasts.{name}.given", sum(each.foreseen is not None for each in part))
    yield Figure(f"forecasts.{name}.covered", 100 * covered, "%", at_least=75.0, at_most=85.0)
    yield Figure(f"forecasts.{name}.error", hours[0], "h", peer_name="by the group's starts", peer=hours[1])


def _middle(foreseen: Foreseen) -> datetime:
    return foreseen.earliest + (foreseen.latest - foreseen.earliest) / 2


def _hours(times: Sequence[timedelta]) -> str:
    return f"{median(each / timedelta(hours=1) for each in times):.2f} h" if times else "-"


def measure_cost(steps: int) -> None:
    """Print what a forecast of all that waits costs in a large cluster."""
    dice, cluster = Random(3), Cluster(SHAPES["200-groups"])
    cluster.rest()
    whole = [each for held in cluster.world.workload_sets.values() for each in held.by_id.values()]
    lasting = ((each, replace(each, run_time=OwnRunTime(timedelta(minutes=dice.randint(10, 120))))) for each in whole)
    outlook = Outlook.of(cluster.world.with_changes(lasting), after(60))
    waiting = [each for leaf in outlook.after.leaves.values() for each in leaf.pending]
    began = time.thread_time()
    forecast = Forecast(outlook.after, {}, None, steps)
    given = sum(isinstance(forecast.of(each), Foreseen) for each in waiting)
    print(f"{len(waiting)} wait, {given} have a forecast: CPU {time.thread_time() - began:.2f} s")


def main() -> None:
    """Run one error model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--error", choices=("exact", "over", "none"), default="over")
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--capacity", default=CAPACITY)
    parser.add_argument("--trace", type=Path, default=TRACE)
    parser.add_argument("--mapping", type=Path, default=ROOT / "docs" / "replay" / "openb-mapping.yaml")
    parser.add_argument("--tree", type=Path, default=ROOT / "docs" / "replay" / "openb-tree.yaml")
    parser.add_argument("--size", default="cpu", help="the resource by whose amount terciles are")
    parser.add_argument("--cost", action="store_true")
    chosen = parser.parse_args()
    if chosen.cost:
        measure_cost(chosen.steps)
        return
    mapping = load_settings(chosen.mapping, LogMapping)
    log = declared(busy_part(read_table(str(chosen.trace), mapping)), chosen.error)
    question = read_question(read_manifests([str(chosen.tree)]), read_settings(None, [chosen.capacity]))
    report(*asked_in(log, question.world_at(log.begin), chosen.samples, chosen.steps), chosen.size)


if __name__ == "__main__":
    main()
