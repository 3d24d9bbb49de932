"""Whether a stop had a cause at some instant: a limit exceeded, or an asker entitled to what was borrowed. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from shared.api.annotations import EvictionNote
from shared.api.job import Job
from shared.api.pod import Pod
from shared.api.priority import Priorities
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.measure.world import World
from shared.quota.model.node import Node
from shared.quota.model.pod_reading import workload_of_pod
from shared.quota.model.reading import Surroundings, workload_of_job
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import StopPolicy
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.chaos.ledger import Instant

_LIMITS: Final = {"OverCeiling", "CapacityLost"}


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What does not change while the history goes on."""

    nodes: tuple[Node, ...]
    priorities: Priorities = field(default_factory=Priorities)


@dataclass(slots=True)
class Causes:
    """Judges stops; keeps the last snapshots, for stops come in bunches."""

    around: Surrounding
    settings: QuotaSettings
    _known: dict[int, tuple[Instant, Snapshot]] = field(default_factory=dict)

    def why_not(self, victim: Job | Pod, note: EvictionNote, instants: Iterable[Instant]) -> str:
        """Why no instant gives a cause, in the words of the latest; empty: one does."""
        latest = ""
        for instant in instants:
            why = self._why_not_at(victim, note, instant)
            if not why:
                return ""
            latest = latest or why
        return latest or "nothing is known of that time"

    def _why_not_at(self, victim: Job | Pod, note: EvictionNote, instant: Instant) -> str:
        read = self._read(victim)
        if read is None:
            return "it was no managed work"
        snapshot = self._snapshot(instant)
        if note.reason in _LIMITS:
            return _why_within(snapshot, instant, read.group)
        if note.reason == "GroupStopped":
            leaf = snapshot.leaves.get(read.group)
            return "" if leaf and leaf.stop is StopPolicy.HOLD_AND_DRAIN else "its group was not being drained"
        if note.reason not in ("Reclaimed", "Preempted"):
            return f"{note.reason} was not to happen here"
        if note.claim is None:
            return "nobody asked for its room"
        found = instant.jobs.get(note.claim.uid) or instant.pods.get(note.claim.uid)
        asker = self._read(found) if found is not None else None
        if asker is None or not asker.is_pending or asker.hold:
            return f"its asker {note.claim.workload} was not waiting"
        if asker.group == read.group:
            return "" if asker.priority > read.priority else "its asker is no more important"
        return _why_not_owed(snapshot, read, asker)

    def _snapshot(self, instant: Instant) -> Snapshot:
        known = self._known.get(id(instant))
        if known is None:
            if len(self._known) > 1000:
                self._known.clear()
            work = [*map(self._read, instant.jobs.values()), *map(self._read, instant.pods.values())]
            workloads = [each for each in work if each is not None]
            world = World.of(instant.tree, (), workloads, self.around.nodes, self.settings)
            known = self._known[id(instant)] = (instant, measure(world, instant.received))
        return known[1]

    def _read(self, work: Job | Pod) -> Workload | None:
        around = Surroundings(priorities=self.around.priorities)
        if isinstance(work, Job):
            return workload_of_job(work, around, self.settings).workload
        return workload_of_pod(work, around, self.settings).workload


def _why_within(snapshot: Snapshot, instant: Instant, leaf: str) -> str:
    for name in instant.tree.path(leaf):
        for each in snapshot.numbers.get(name, {}).values():
            if each.used > each.ceiling or (name == "root" and each.used > each.runtime):
                return ""
    return "no group above it was over its ceiling"


def _why_not_owed(snapshot: Snapshot, victim: Workload, asker: Workload) -> str:
    """The victim's leaf must hold more than its runtime, and the asker's must have runtime left for it."""
    leaf = snapshot.leaves.get(victim.group)
    owed = snapshot.leaves.get(asker.group)
    if leaf is None or owed is None:
        return "a group of the two was not there"
    over = [
        key.resource
        for key, numbers in snapshot.numbers[victim.group].items()
        if numbers.used - _sum(leaf.evicting, key) > numbers.runtime
    ]
    if not over:
        return f"its group {victim.group!r} was within its runtime"
    for resource, amount in asker.request.items():
        key = FlavorResource("default", resource)
        runtime = snapshot.numbers[asker.group][key].runtime
        kept = _sum((each for each in owed.admitted if not each.preemptible or each.priority >= asker.priority), key)
        if kept + amount > runtime:
            return f"its asker's group {asker.group!r} has a runtime of {runtime} {resource}, {kept} of it in use"
    return ""


def _sum(work: Iterable[Workload], key: FlavorResource) -> int:
    return sum(
        each.request.get(key.resource, 0)
        for each in work
        if each.admission is not None and each.admission.flavors.get(key.resource) == key.flavor
    )
