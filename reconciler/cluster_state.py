"""What the cluster is like: what the watches said, and over it what was decided but is not yet seen. Pure.

Work is kept by unit: a Job or a lone pod by its uid, a group of pods by its key. `world()` costs what changed since it
was called last.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from reconciler.assumptions import Assumptions, Mark
from reconciler.capacity_use import CapacityUse
from reconciler.records import FinishedJob, GroupRecord, PodRecord, UsingPod
from reconciler.surroundings import Neighbourhoods, sides
from shared.api.job import Job
from shared.api.limitrange import LimitRange
from shared.api.namespace import Namespace
from shared.api.pod import Pod
from shared.api.priority import PriorityClass
from shared.api.runtimeclass import RuntimeClass
from shared.kube.cache import Change
from shared.quota.measure.world import OverSince, World
from shared.quota.model.flavor import Flavor
from shared.quota.model.membership import admits
from shared.quota.model.node import Node
from shared.quota.model.pod_reading import pod_group_of, workload_of_pod, workload_of_pod_group
from shared.quota.model.reading import Reading, WorkState, workload_of_job
from shared.quota.model.rules import inactive_groups
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Eviction, EvictionReason, Workload, WorkloadId

DEPARTED: Final = "DepartedJob"
"""The kind of a workload whose Job is deleted while its pods still run: the next Job of its name is another."""

WorkObject = Job | Pod


class ClusterState:
    """Everything a decision cycle starts from. Lives on one event loop; nothing here waits."""

    def __init__(self, settings: QuotaSettings) -> None:
        self.settings = settings
        self.changed = True
        """Whether the next `world()` may differ from the last."""
        self.groups: dict[str, GroupRecord] = {}
        """By name."""
        self.flavors: dict[str, Flavor] = {}
        self.foundlings: dict[str, Workload] = {}
        """By unit: work that runs without an admission."""
        self.problems: dict[str, tuple[str, ...]] = {}
        """By unit: what is wrong with what it says, or with where it says it."""
        self.fresh_problems: dict[str, tuple[str, ...]] = {}
        """Those of `problems` that nobody has been told of; whoever tells takes them out."""
        self.unready: set[str] = set()
        """Units whose pods were all ready since their start and are not any more, which they do not say yet."""
        self.half_done: set[str] = set()
        """Units of pods of which some are started or evicted, and others not yet."""
        self.assumptions = Assumptions()
        self._jobs: dict[str, Job] = {}
        self._pods: dict[str, Pod] = {}
        self._pod_groups: dict[str, dict[str, Pod]] = {}
        self._neighbourhoods = Neighbourhoods()
        self._use = CapacityUse()
        self._workloads: dict[str, Workload] = {}
        self._told: dict[str, Workload] = {}
        self._touched: dict[str, None] = {}
        self._unit_of: dict[WorkloadId, str] = {}
        self._finished: set[str] = set()
        self._departed: set[str] = set()
        self._world = World(Tree.of(()), {}, {}, settings=settings)
        self._tree_changed = True
        self._use_changed = True
        self._over_since: OverSince | None = None

    # What the watches tell.

    def see_jobs(self, changes: Sequence[Change[Job | FinishedJob]]) -> None:
        """Jobs appeared, changed, finished or went."""
        for before, after in sides(changes):
            if isinstance(after, Job):
                self._jobs[after.metadata.uid] = after
                self.assumptions.see(after.metadata.uid, after.metadata)
                self._refresh(after.metadata.uid)
            elif isinstance(after, FinishedJob):
                self._finished.add(after.uid)
                self._lose_job(after.uid)
            elif isinstance(before, FinishedJob):
                self._finished.discard(before.uid)
                self._use_changed = self.changed = True
            elif before is not None:
                self._delete_job(before)

    def see_pods(self, changes: Sequence[Change[PodRecord]]) -> None:
        """Pods appeared, changed, ended or went."""
        told = [*sides(changes)]
        self._see_use([(old.using if old else None, new.using if new else None) for old, new in told])
        for old, new in told:
            before, after = old.work if old else None, new.work if new else None
            if before is not None and (after is None or _unit_of_pod(before) != _unit_of_pod(after)):
                self._lose_pod(before)
            if after is not None:
                unit = _unit_of_pod(after)
                self._pods[after.metadata.uid] = after
                self._pod_groups.setdefault(unit, {})[after.metadata.uid] = after
                self.assumptions.see(unit, after.metadata)
                self._refresh(unit)
                self._note_half_done(unit)

    def see_groups(self, changes: Sequence[Change[GroupRecord]]) -> None:
        """QuotaGroups appeared, changed or went; a change of status alone changes no decision."""
        for before, after in sides(changes):
            old = None if before is None else before.group
            new = None if after is None else after.group
            if old is not None:
                self.groups.pop(old.name, None)
            if after is not None:
                self.groups[after.group.name] = after
            if old == new:
                continue
            self._tree_changed = self.changed = True
            if old is None or new is None or old.namespace_selector != new.namespace_selector:
                name = new.name if new is not None else old.name if old is not None else ""
                self._touch([unit for unit, found in self._workloads.items() if found.group == name])

    def see_flavors(self, changes: Sequence[Change[Flavor]]) -> None:
        """ResourceFlavors appeared, changed or went."""
        for before, after in sides(changes):
            if before is not None:
                self.flavors.pop(before.name, None)
            if after is not None:
                self.flavors[after.name] = after
        self._tree_changed = self._use_changed = self.changed = True

    def see_nodes(self, changes: Sequence[Change[Node]]) -> None:
        """Nodes appeared, changed or went."""
        self._use.see_nodes(changes)
        self._use_changed = self.changed = True

    def see_namespaces(self, changes: Sequence[Change[Namespace]]) -> None:
        """Namespaces appeared, changed or went."""
        self._touch_namespaces(self._neighbourhoods.see_namespaces(changes))
        self._use_changed = self.changed = True

    def see_limit_ranges(self, changes: Sequence[Change[LimitRange]]) -> None:
        """LimitRanges appeared, changed or went."""
        self._touch_namespaces(self._neighbourhoods.see_limit_ranges(changes))

    def see_priority_classes(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """PriorityClasses appeared, changed or went."""
        self._neighbourhoods.see_priority_classes(changes)
        self._touch([*self._jobs, *self._pod_groups])

    def see_runtime_classes(self, changes: Sequence[Change[RuntimeClass]]) -> None:
        """RuntimeClasses appeared, changed or went."""
        self._neighbourhoods.see_runtime_classes(changes)
        self._touch([*self._jobs, *self._pod_groups])

    def _see_use(self, changes: Sequence[tuple[UsingPod | None, UsingPod | None]]) -> None:
        for owner in self._use.see_pods(changes):
            if owner not in self._workloads:
                self._use_changed = self.changed = True
            elif owner in self._departed and not self._use.runs_pods_of(owner):
                self._departed.discard(owner)
                self._set(owner, None)

    # What the cycle tells.

    def assume(self, unit: str, workload: Workload, mark: Mark) -> None:
        """Count `workload` as a write under way will make it."""
        self.assumptions.make(unit, workload, mark, (each.metadata for each in self.objects(unit)))
        self._refresh(unit)

    def forget(self, unit: str, mark: Mark) -> None:
        """That write has failed: count what the watch says."""
        if self.assumptions.drop(unit, mark):
            self._refresh(unit)

    def park(self, unit: str, until: datetime) -> None:
        """Leave the unit alone until then, or until its spec has changed."""
        for each in self.objects(unit)[:1]:
            self.assumptions.park(unit, each.metadata.generation, until)
            self._refresh(unit)

    def block(self, unit: str, flavors: Iterable[str]) -> None:
        """Its pods cannot take these flavors as they are written: do not offer them until its spec has changed."""
        for each in self.objects(unit)[:1]:
            self.assumptions.block(unit, each.metadata.generation, flavors)
            self._refresh(unit)

    def remember_over(self, over_since: OverSince) -> None:
        """Since when leaves have been over their runtime, for the next world."""
        self._over_since = over_since

    # What the cycle asks.

    def world(self) -> World:
        """All of it, frozen. Parts that have not changed are the same objects as in the former world."""
        world = self._world
        if self._tree_changed:
            tree = Tree.of(record.group for record in self.groups.values())
            flavors = dict(self.flavors)
            inactive = inactive_groups(tree, flavors, self.settings.max_depth)
            world = replace(world, tree=tree, flavors=flavors, inactive=inactive)
        if self._use_changed or self._tree_changed:
            world = self._with_use(world)
        if self._over_since is not None:
            world = replace(world, over_since=self._over_since)
        if self._touched:
            world = world.with_changes(self._changes())
        self._tree_changed = self._use_changed = self.changed = False
        self._over_since = None
        self._world = world
        return world

    def unit_of(self, workload: Workload) -> str | None:
        """The unit that this workload was read from, if it is still there."""
        return self._unit_of.get(workload.id)

    def objects(self, unit: str) -> list[WorkObject]:
        """The Job, or the pods, of a unit; nothing when it has gone."""
        job = self._jobs.get(unit)
        return [job] if job is not None else list(self._pod_groups.get(unit, {}).values())

    def unit_named(self, key: str) -> str | None:
        """The unit of the work of this name, whatever its kind."""
        found = (self._unit_of.get(WorkloadId(kind, key)) for kind in ("Job", "Pod", "PodGroup"))
        return next((unit for unit in found if unit is not None), None)

    def workload(self, unit: str) -> Workload | None:
        """The unit's workload as it counts now."""
        return self._workloads.get(unit)

    # Inside.

    def _lose_job(self, uid: str) -> None:
        if self._jobs.pop(uid, None) is not None:
            self.assumptions.lose(uid, uid)
        self._set(uid, None)

    def _delete_job(self, job: Job) -> None:
        """A deleted Job's pods end after it: until then what it held is still used."""
        uid = job.metadata.uid
        workload = self._workloads.get(uid)
        self._lose_job(uid)
        if workload is not None and workload.admission is not None and self._use.runs_pods_of(uid):
            ending = workload.eviction or Eviction(EvictionReason.SUSPENDED, workload.admission.since)
            self._departed.add(uid)
            self._set(uid, replace(workload, kind=DEPARTED, eviction=ending, claim=None))

    def _lose_pod(self, pod: Pod) -> None:
        uid, unit = pod.metadata.uid, _unit_of_pod(pod)
        self._pods.pop(uid, None)
        members = self._pod_groups.get(unit, {})
        members.pop(uid, None)
        self.assumptions.lose(unit, uid)
        if members:
            self._refresh(unit)
        else:
            self._pod_groups.pop(unit, None)
            self._set(unit, None)
        self._note_half_done(unit)

    def _refresh(self, unit: str) -> None:
        """Read the unit again and take note if that makes another workload of it."""
        self.foundlings.pop(unit, None)
        assumed = self.assumptions.get(unit)
        if assumed is not None:
            self._set(unit, assumed)
            return
        objects = self.objects(unit)
        if not objects:
            return
        namespace = objects[0].metadata.namespace
        reading = self._read(objects, namespace)
        workload, problems = reading.workload, reading.problems
        if workload is not None and reading.state is WorkState.ADOPTED:
            workload = self.foundlings[unit] = replace(workload, hold=True)
        elif workload is not None and workload.is_pending:
            if not self._admits(workload.group, namespace):
                workload = replace(workload, hold=True)
                problems = (*problems, f"group {workload.group} does not admit namespace {namespace}; it waits")
            workload = self.assumptions.cast_doubt(unit, workload)
        elif workload is not None:
            workload = self._with_readiness(unit, workload)
        self._note_problems(unit, problems)
        self._set(unit, workload)

    def _read(self, objects: Sequence[WorkObject], namespace: str) -> Reading:
        around = self._neighbourhoods.of(namespace)
        first = objects[0]
        if isinstance(first, Job):
            return workload_of_job(first, around, self.settings)
        pods = [each for each in objects if isinstance(each, Pod)]
        if pod_group_of(first):
            return workload_of_pod_group(pods, around, self.settings)
        return workload_of_pod(first, around, self.settings)

    def _admits(self, group: str, namespace: str) -> bool:
        record = self.groups.get(group)
        return record is None or admits(record.group, self._neighbourhoods.labels(namespace))

    def _with_readiness(self, unit: str, workload: Workload) -> Workload:
        """Running work that is not ready, as work that was ready once if it was so since its start."""
        before = self._workloads.get(unit)
        then, now = before.admission if before else None, workload.admission
        self.unready.discard(unit)
        if then is None or now is None or then.since != now.since or now.ready or not then.was_ready:
            return workload
        if now.unready_since is not None and not then.ready:
            return workload
        self.unready.add(unit)
        since = None if then.ready else then.unready_since
        return replace(workload, admission=replace(now, was_ready=True, unready_since=since))

    def _note_problems(self, unit: str, problems: tuple[str, ...]) -> None:
        if problems == self.problems.get(unit, ()):
            return
        self.problems[unit] = problems
        if problems:
            self.fresh_problems[unit] = problems
            self.changed = True
        else:
            del self.problems[unit]
            self.fresh_problems.pop(unit, None)

    def _set(self, unit: str, workload: Workload | None) -> None:
        before = self._workloads.get(unit)
        if before == workload:
            return
        if before is not None and self._unit_of.get(before.id) == unit:
            del self._unit_of[before.id]
        if workload is None:
            del self._workloads[unit]
            self.foundlings.pop(unit, None)
            self.unready.discard(unit)
        else:
            self._workloads[unit] = workload
            self._unit_of[workload.id] = unit
        if (before is None) != (workload is None) and self._use.runs_pods_of(unit):
            self._use_changed = True
        self._touched[unit] = None
        self.changed = True

    def _note_half_done(self, unit: str) -> None:
        workload = self._workloads.get(unit)
        pods = self._pod_groups.get(unit, {}).values()
        if workload is not None and workload.is_evicting:
            is_half_done = any(not pod.metadata.is_deleting and not pod.is_gated for pod in pods)
        else:
            is_half_done = workload is not None and not workload.is_pending and any(pod.is_gated for pod in pods)
        if is_half_done:
            self.half_done.add(unit)
            self.changed = True
        else:
            self.half_done.discard(unit)

    def _changes(self) -> list[tuple[Workload | None, Workload | None]]:
        """What is to be told of the work. The gone first: a new Job may bear the name of one that went."""
        gone: list[tuple[Workload | None, Workload | None]] = []
        rest: list[tuple[Workload | None, Workload | None]] = []
        for unit in self._touched:
            before, after = self._told.pop(unit, None), self._workloads.get(unit)
            if after is not None:
                self._told[unit] = after
            if before is not after:
                (gone if after is None else rest).append((before, after))
        self._touched.clear()
        return gone + rest

    def _touch(self, units: Iterable[str]) -> None:
        for unit in units:
            self._refresh(unit)

    def _touch_namespaces(self, namespaces: set[str]) -> None:
        if namespaces:
            self._touch([unit for unit, each in self._firsts() if each.metadata.namespace in namespaces])

    def _firsts(self) -> Iterator[tuple[str, WorkObject]]:
        yield from self._jobs.items()
        for unit, members in self._pod_groups.items():
            yield unit, next(iter(members.values()))

    def _with_use(self, world: World) -> World:
        world = replace(world, nodes=self._use.nodes())
        if self.settings.capacity_source is not CapacitySource.NODES:
            return world
        system, unmanaged = self._use.tally(
            world.flavors, self._is_managed, self._neighbourhoods.labels, self.settings.default_group
        )
        return replace(world, system=system, unmanaged=unmanaged)

    def _is_managed(self, pod: UsingPod) -> bool:
        """Whether the pod's use is counted as work, or was until a moment ago."""
        owner = pod.job or pod.unit
        return owner in self._workloads or owner in self._finished


def _unit_of_pod(pod: Pod) -> str:
    return pod_group_of(pod) or pod.metadata.uid
