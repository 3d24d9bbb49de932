"""Whether a stop had a cause at some instant: a limit exceeded, or a preemptor entitled to what was borrowed. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from shared.api.annotations import EvictionAnnotation, read_annotations
from shared.api.core.job import Job
from shared.api.core.pod import Pod
from shared.api.core.pod_request import effective_request
from shared.api.core.priority import Priorities
from shared.api.names import POD_SET_LABEL
from shared.kinds.kind_object import KindObject
from shared.quota.decide.state.usage import quantities_of
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.lifecycle import is_drained
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.node import ClusterNode
from shared.quota.model.read.jobs import workload_of_job
from shared.quota.model.read.kind_objects import PodsBySet, SeenPods, workload_of_kind
from shared.quota.model.read.pods import workload_of_pod
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Admission, Workload
from shared.resources import FlavorResource, sum_amounts
from tests.chaos.judging.history.records import Submitted, account_key
from tests.chaos.judging.replay import Instant

_LIMITS: Final = {"OverCeiling", "CapacityLost"}
GONE: Final = "it was not there"
NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What does not change while the history goes on."""

    nodes: tuple[ClusterNode, ...]
    priorities: Priorities = field(default_factory=Priorities)


@dataclass(slots=True)
class Causes:
    """Judges stops. Keeps the latest snapshots, because stops come in bunches."""

    around: Surrounding
    settings: QuotaSettings
    _known: dict[int, tuple[Instant, Snapshot]] = field(default_factory=dict)
    _stops: dict[int, tuple[Submitted, datetime | None]] = field(default_factory=dict)

    def why_not(self, victim: Submitted, annotation: EvictionAnnotation, instants: Iterable[Instant]) -> str:
        """Say which part of a cause is missing at every instant; empty: there was a cause.

        The parts may come from different instants: a decision is made on what several watches showed, each with its own
        delay, and on previous decisions that were not yet written.
        """
        missing: dict[Part, str] = dict.fromkeys(_parts_of(annotation.reason), "")
        for instant in instants:
            for part in list(missing):
                why = part(self, victim.metadata.uid, annotation, instant)
                if not why:
                    del missing[part]
                else:
                    missing[part] = max(missing[part], why, key=len)
            if not missing and _parts_of(annotation.reason):
                return ""
        return "; ".join(missing.values()) or f"{annotation.reason} was not to happen here"

    def excess(self, victim: str, annotation: EvictionAnnotation, instant: Instant) -> str:
        """A group above it must be over its ceiling, or root over what there is."""
        read = self._work(victim, instant)
        return _why_within(self._snapshot(instant), instant, read.group) if read else GONE

    def drain(self, victim: str, annotation: EvictionAnnotation, instant: Instant) -> str:
        """Its group must be drained."""
        read = self._work(victim, instant)
        leaf = self._snapshot(instant).leaves.get(read.group) if read else None
        evicts = leaf is not None and read is not None and is_drained(leaf.stop, preemptible=read.preemptible)
        return "" if evicts else "its group was not being drained"

    def debt(self, victim: str, annotation: EvictionAnnotation, instant: Instant) -> str:
        """It must be less important than a preemptor of its own group, or hold what its group has above its runtime."""
        read, preemptor = self._work(victim, instant), self._preemptor(annotation, instant)
        if read is None:
            return GONE
        if preemptor is not None and preemptor.group == read.group:
            return "" if preemptor.priority > read.priority else "its preemptor is no more important"
        stopped = self._stopped_with(annotation, read.group, instant)
        snapshot = self._snapshot(instant)
        why = _why_not_over(snapshot, read.group, stopped, _owed(snapshot, read))
        if why and (instant.closed or instant.orphaned):
            # A closed node counts what pods on it use, so there was less than that, and more than without the node.
            # A leader that has not seen the owner of pods before it was deleted counts them as unmanaged.
            least = self._measure(instant, without=instant.closed, unmanaged=instant.orphaned)
            why = _why_not_over(least, read.group, stopped, _owed(least, read))
        return why

    def entitlement(self, victim: str, annotation: EvictionAnnotation, instant: Instant) -> str:
        """Its preemptor must be waiting, and, if of another group, be entitled to room: at least if nobody else waited.

        After a failed write a workload is left alone for a while and requests nothing meanwhile.
        """
        if annotation.claim is None:
            return "it has no preemptor"
        read, preemptor = self._work(victim, instant), self._preemptor(annotation, instant)
        if preemptor is None or not preemptor.is_pending or preemptor.hold:
            return f"its preemptor {annotation.claim.workload} was not waiting"
        if read is not None and read.group == preemptor.group:
            return ""
        why = _why_not_entitled(self._snapshot(instant), preemptor)
        return why and _why_not_entitled(self._measure(instant, only=preemptor), preemptor)

    def _stopped_with(self, annotation: EvictionAnnotation, group: str, instant: Instant) -> list[Workload]:
        """All workloads of the group that one decision stopped: they were there when it was made.

        The decisions of one cycle have the same time.
        """
        found = []
        for each in instant.submitted():
            if self._stop_of(each) == annotation.time:
                read = self._read(each, instant)
                if read is not None and read.group == group:
                    if isinstance(each, KindObject):
                        read = replace(read, request=_declared(each))
                    found.append(replace(read, admission=Admission(annotation.assigned, annotation.time)))
        return found

    def _stop_of(self, work: Submitted) -> datetime | None:
        """When its last eviction was decided."""
        known = self._stops.get(id(work))
        if known is None:
            annotation = read_annotations(work.metadata.annotations).eviction
            known = self._stops[id(work)] = (work, annotation.time if annotation else None)
        return known[1]

    def _preemptor(self, annotation: EvictionAnnotation, instant: Instant) -> Workload | None:
        return None if annotation.claim is None else self._work(annotation.claim.uid, instant)

    def _work(self, uid: str, instant: Instant) -> Workload | None:
        found = instant.find(uid)
        return None if found is None else self._read(found, instant)

    def _snapshot(self, instant: Instant) -> Snapshot:
        known = self._known.get(id(instant))
        if known is None:
            if len(self._known) > 1000:
                self._known.clear()
            known = self._known[id(instant)] = (instant, self._measure(instant))
        return known[1]

    def _measure(
        self,
        instant: Instant,
        only: Workload | None = None,
        without: frozenset[str] = frozenset(),
        unmanaged: Mapping[str, int] = NOTHING,
    ) -> Snapshot:
        """The cluster at that instant; `only`: as if nobody else waited; `without`: these nodes.

        `unmanaged`: resource -> what unmanaged pods use.
        """
        work = [self._read(each, instant) for each in instant.submitted()]
        workloads = [
            each for each in work if each is not None and (only is None or not each.is_pending or each.id == only.id)
        ]
        # At most: a closed node counts what pods on it use. So no exceeded limit can have a cordon as its cause.
        kept = {each.name: replace(each, takes_pods=False, kept=each.allocatable) for each in self.around.nodes}
        there = (each for each in self.around.nodes if each.name not in without)
        nodes = [kept[each.name] if each.name in instant.closed else each for each in there]
        world = World.of(instant.tree, (), workloads, nodes, self.settings)
        use = {FlavorResource("default", resource): amount for resource, amount in unmanaged.items()}
        return measure(replace(world, unmanaged=use), instant.received)

    def _read(self, work: Submitted, instant: Instant) -> Workload | None:
        around = NamespaceContext(priorities=self.around.priorities)
        if isinstance(work, KindObject):
            pods = _by_set(instant.made.get(account_key(work), {}).values())
            return workload_of_kind(work, around, self.settings, pods).workload
        if isinstance(work, Job):
            return workload_of_job(work, around, self.settings).workload
        return workload_of_pod(work, around, self.settings).workload


def _declared(seen: KindObject) -> Amounts:
    """What it counts as while it runs: its pods that are left count less while it is being stopped."""
    each = (effective_request(one.spec) for one in seen.pod_sets for _ in range(one.count))
    return sum_amounts(each)


def _by_set(pods: Iterable[Pod]) -> PodsBySet:
    found: dict[str, list[Amounts]] = {}
    for pod in pods:
        found.setdefault(pod.metadata.labels.get(POD_SET_LABEL, ""), []).append(effective_request(pod.spec))
    return {name: SeenPods(len(each), request=sum_amounts(each)) for name, each in found.items()}


def _why_within(snapshot: Snapshot, instant: Instant, leaf: str) -> str:
    for name in instant.tree.path(leaf):
        for each in snapshot.numbers.get(name, {}).values():
            if each.used > each.ceiling or (name == "root" and each.used > each.runtime):
                return ""
    return "no group above it was over its ceiling"


def _owed(snapshot: Snapshot, victim: Workload) -> list[Workload]:
    """Its group's waiting workloads that are entitled and more important: any of them could have the victim stopped.

    What gets free by other stops is kept for such a one, and with it the group counts as over its runtime. Then the
    victim may go for a preemptor of another group.
    """
    leaf = snapshot.leaves.get(victim.group)
    if leaf is None:
        return []
    claiming = {each.preemptor.id for each in leaf.claims.values() if each.preemptor is not None}
    waiting = (each for each in leaf.pending if each.id not in claiming)
    return [
        each
        for each in waiting
        if each.priority > victim.priority and not each.hold and not _why_not_entitled(snapshot, each)
    ]


def _why_not_over(snapshot: Snapshot, group: str, stopped: Sequence[Workload], owed: Sequence[Workload]) -> str:
    """Over its runtime as a decision sees it: with what its own work claims, or one of `owed`, and what it stops."""
    leaf = snapshot.leaves.get(group)
    if leaf is None:
        return GONE
    for key, numbers in snapshot.numbers[group].items():
        claimed = sum(
            dict(quantities_of(each.preemptor, each.flavors)).get(key, 0)
            for each in leaf.claims.values()
            if each.preemptor is not None
        )
        others = [each for each in leaf.admitted if all(each.id != one.id for one in stopped)]
        claimed += max((each.request.get(key.resource, 0) for each in owed), default=0)
        if _sum(others, key) + _sum(stopped, key) + claimed > numbers.runtime:
            return ""
    return f"its group {group!r} was within its runtime"


def _why_not_entitled(snapshot: Snapshot, preemptor: Workload) -> str:
    leaf = snapshot.leaves.get(preemptor.group)
    if leaf is None:
        return GONE
    for resource, amount in preemptor.request.items():
        key = FlavorResource("default", resource)
        runtime = snapshot.numbers[preemptor.group][key].runtime
        kept = _sum(
            (each for each in leaf.admitted if not each.preemptible or each.priority >= preemptor.priority), key
        )
        if kept + amount > runtime:
            text = (
                f"preemptor {preemptor.key} of {amount} was not entitled: group {preemptor.group!r} has a runtime of "
            )
            return f"{text}{runtime} {resource}, {kept} of it in use"
    return ""


def _sum(work: Iterable[Workload], key: FlavorResource) -> int:
    admitted = ((each, each.admission.flavors) for each in work if each.admission is not None)
    return sum(dict(quantities_of(each, flavors)).get(key, 0) for each, flavors in admitted)


Part = Callable[[Causes, str, EvictionAnnotation, Instant], str]
"""One part of a cause: empty, or why this instant does not give it."""


def _parts_of(reason: str) -> tuple[Part, ...]:
    """The parts that a stop with this reason needs."""
    if reason in _LIMITS:
        return (Causes.excess,)
    if reason == "GroupStopped":
        return (Causes.drain,)
    return (Causes.debt, Causes.entitlement) if reason in ("Reclaimed", "Preempted") else ()
