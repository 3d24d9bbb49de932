"""What happens in a case: its load is decided until nothing changes, then come its edits and new workloads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cli.cases.case_file import Case, CaseFile, CaseWorkloads, full_name
from cli.cases.short_jobs import short_job_manifests
from cli.read.edits import apply_in_order
from cli.read.findings import find, finding_key
from cli.read.manifests import Manifest, read_manifests
from cli.read.questions import Question, read_question
from shared.api.durations import later
from shared.kinds.kind import Kinds
from shared.quota.decide.decisions import Evict, WaitExplanation
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.inputs.world import World
from shared.quota.model.rules import Violation
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.explain.pending_rows import PendingRows
from shared.quota.outlook.simulate.run import SimulationRun, run

BETWEEN: Final = timedelta(minutes=1)
"""From the load to what comes then, so that the load is older."""


@dataclass(frozen=True, slots=True)
class CaseSetting:
    """What all cases of a file share."""

    file: CaseFile
    tree: Sequence[Manifest]
    settings: QuotaSettings
    kinds: Kinds | None


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What happened. Workloads are named namespace/name."""

    starts: Mapping[str, Workload]
    evictions: Mapping[str, Evict]
    waits: Mapping[str, WaitExplanation]
    refused: tuple[Violation, ...]
    """Why edits and new workloads are refused."""
    broken: tuple[Violation, ...]
    """What is wrong with the tree and the load, which no case expects."""
    numbers: Mapping[str, GroupNumbers]
    stable: bool
    """Whether nothing changed any more, both times."""


def live_through(case: Case, setting: CaseSetting, now: datetime) -> CaseOutcome:
    """Return what happens in this case, which begins at `now`. Raises Problem for files that cannot be read."""
    load = _manifests(case.load, setting.file)
    before = _question([*setting.tree, *load], setting)
    first = run(before.world_at(now), now)
    nodes = first.snapshot.largest_nodes
    broken = find(before.objects, before.workloads, setting.settings, None, nodes, now=now).violations
    edit = apply_in_order(before, first.snapshot.capacity, read_manifests(setting.file.paths(case.edit)), now)
    staying = [each for each in load if _key(each) not in set(map(full_name, case.ends))]
    submitted = _manifests(case.submit, setting.file)
    after = _question([*setting.tree, *edit.accepted, *staying, *submitted], setting)
    then = later(first.last.now, BETWEEN)
    refused = [*edit.refused, *_refused(after, {finding_key(each) for each in broken}, first)]
    second = run(_continued(after.world_at(then), first.world, {each.object for each in refused}), then)
    return CaseOutcome(
        starts=_running(second.world, but=_running(first.world)),
        evictions={each.workload.key: each for decided in second.plans for each in decided.evictions},
        waits={each.workload.key: each.why for each in PendingRows(second.last)},
        refused=tuple(refused),
        broken=tuple(broken),
        numbers=second.snapshot.numbers,
        stable=first.settled and second.settled,
    )


def _question(manifests: Iterable[Manifest], setting: CaseSetting) -> Question:
    return read_question(manifests, setting.settings, kinds=setting.kinds, later_wins=True)


def _manifests(given: CaseWorkloads, file: CaseFile) -> list[Manifest]:
    return [*read_manifests(file.paths(given.files)), *short_job_manifests(given.jobs, file.name)]


def _key(manifest: Manifest) -> str:
    return f"{manifest.namespace or 'default'}/{manifest.name}"


def _refused(after: Question, known: set[tuple[str, str, str]], first: SimulationRun) -> Iterator[Violation]:
    """Yield what is wrong with the new workloads: the tree was judged with the edits."""
    capacity, nodes = first.snapshot.capacity, first.snapshot.largest_nodes
    found = find(after.objects, after.workloads, after.settings, capacity, nodes, now=first.last.now)
    return (each for each in found.violations if finding_key(each) not in known)


def _continued(world: World, settled: World, refused: set[str]) -> World:
    """Return the world with the load in the state in which it came to rest, and without workloads that are refused."""
    known = _by_id(settled)
    return world.with_changes(
        (each, None if f"{each.kind}/{each.key}" in refused else known[each.id])
        for each in _by_id(world).values()
        if each.id in known or f"{each.kind}/{each.key}" in refused
    )


def _by_id(world: World) -> Mapping[WorkloadId, Workload]:
    return {each.id: each for held in world.workload_sets.values() for each in held.by_id.values()}


def _running(world: World, but: Mapping[str, Workload] | None = None) -> dict[str, Workload]:
    running = (each for each in _by_id(world).values() if each.admission is not None)
    return {each.key: each for each in running if each.key not in (but or {})}
