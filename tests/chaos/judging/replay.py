"""The cluster at one revision, replayed from the history: what exists, who holds quota, what the tree was. Pure."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from shared.api.core.job import Job
from shared.api.core.pod import Pod, PodSpec
from shared.api.core.pod_request import effective_request
from shared.api.names import ADMISSION, GROUP_LABEL
from shared.quota.model.read.pods import is_covered
from shared.quota.model.tree import ROOT, Group, Tree
from tests.chaos.judging.history import Lease, Shutter, Version

Amounts = dict[str, int]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Instant:
    """What there was right after one version."""

    received: datetime
    jobs: Mapping[str, Job]
    pods: Mapping[str, Pod]
    """Plain pods alone."""
    tree: Tree
    closed: frozenset[str] = frozenset()
    """Nodes that take no pods."""


@dataclass(slots=True)
class Replay:
    """Applies the versions in order. `lag`: how far behind the stored state a decision may be."""

    lag: timedelta
    jobs: dict[str, Job] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    lease: Lease = field(default_factory=lambda: Lease(""))
    lease_writer: str = ""
    _groups: dict[str, Group] = field(default_factory=dict)
    _pods_of: dict[str, dict[str, Pod]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _owners: dict[str, str] = field(default_factory=dict)
    """Pod -> the Job that has made it."""
    _instants: deque[Instant] = field(default_factory=deque)
    _closed: frozenset[str] = frozenset()
    _tree: Tree = field(default_factory=lambda: Tree.of(()))

    def observe(self, version: Version) -> None:
        """Take in the next version."""
        record = version.record
        self._known.add(version.uid)
        if isinstance(record, Lease):
            self._see_lease(record, version)
            return
        if isinstance(record, Job):
            _put(self.jobs, version.uid, None if version.gone else record)
        elif isinstance(record, Pod) and is_covered(record):
            self._see_pod_of_job(record, version)
            return
        elif isinstance(record, Pod):
            self._orphan(version.uid)
            _put(self.pods, version.uid, None if version.gone else record)
        elif isinstance(record, Shutter):
            self._closed = self._closed | {record.node} if record.is_down else self._closed - {record.node}
        else:
            _put(self._groups, record.name, None if version.gone else record)
            self._tree = Tree.of(self._groups.values())
        self._remember(version.received)

    def _see_lease(self, lease: Lease, version: Version) -> None:
        self.lease = lease
        if lease.holder:
            self.lease_writer = version.writer

    def knows(self, uid: str) -> bool:
        """Whether it existed before: as a Job's pod, or before a removal that the log showed too early."""
        return uid in self._known

    def _orphan(self, pod: str) -> None:
        self._pods_of.get(self._owners.get(pod, ""), {}).pop(pod, None)

    def _see_pod_of_job(self, pod: Pod, version: Version) -> None:
        self._owners[version.uid] = pod.owner_job or ""
        running = self._pods_of.setdefault(pod.owner_job or "", {})
        running.pop(version.uid, None)
        if not version.gone and not pod.has_ended:
            running[version.uid] = pod

    def _remember(self, received: datetime) -> None:
        self._instants.append(Instant(received, dict(self.jobs), dict(self.pods), self._tree, self._closed))
        while self._instants and self._instants[0].received < received - self.lag:
            self._instants.popleft()

    def pods_of(self, job: str) -> set[str]:
        """The Job's pods that exist and have not ended."""
        return set(self._pods_of.get(job, ()))

    def instants(self) -> Iterator[Instant]:
        """What a decision written now may have been made on, the latest first."""
        yield from reversed(self._instants)

    def grounds(self, leaf: str) -> list[tuple[Tree, frozenset[str]]]:
        """The trees, and the closed nodes, that a decision about work of `leaf` may have been made on."""
        found = {(id(each.tree), each.closed): each for each in self._instants if leaf in each.tree}
        return [(each.tree, each.closed) for each in found.values()] or [(self._tree, self._closed)]

    def used(self) -> dict[str, Amounts]:
        """Leaf -> what its admitted work holds, until its pods have ended; under "" pods of Jobs that are deleted."""
        total: dict[str, Amounts] = {}
        for uid, job in self.jobs.items():
            if self._holds(uid, job):
                _add(total, job.metadata.labels.get(GROUP_LABEL, ""), job.spec.template.spec, job.pods_left)
        for pod in self.pods.values():
            if ADMISSION in pod.metadata.annotations and not pod.is_gated and not pod.has_ended:
                _add(total, pod.metadata.labels.get(GROUP_LABEL, ""), pod.spec, 1)
        for owner in self._pods_of.keys() - self.jobs.keys():
            for pod in self._pods_of[owner].values():
                if pod.spec.node_name:
                    _add(total, "", pod.spec, 1)
        return total

    def _holds(self, uid: str, job: Job) -> bool:
        if job.has_finished:
            return False
        return not job.spec.suspend or job.has_pods or bool(self.pods_of(uid))


def _put(records: dict[str, R], key: str, record: R | None) -> None:
    if record is None:
        records.pop(key, None)
    else:
        records[key] = record


def _add(total: dict[str, Amounts], group: str, spec: PodSpec, pods: int) -> None:
    held = total.setdefault(group, {})
    for resource, amount in effective_request(spec).items():
        held[resource] = held.get(resource, 0) + amount * pods


def excess(tree: Tree, used: Mapping[str, Amounts], capacity: Mapping[str, int]) -> Iterator[str]:
    """Each group whose charge is above its ceiling, and root above capacity, in words.

    Charge is as in docs/specification.md §3.3 where nothing is short: a child counts with its guarantee even while it
    uses less.
    """
    names = list(tree.subtree(ROOT))
    orphaned = [amounts for name, amounts in used.items() if name not in names]
    for resource, most in capacity.items():
        charges: dict[str, int] = {}
        for name in reversed(names):
            group = tree[name]
            below = sum(max(_guarantee(tree[each], resource), charges[each]) for each in tree.children(name))
            charges[name] = below + used.get(name, {}).get(resource, 0)
            if name == ROOT:
                charges[name] += sum(amounts.get(resource, 0) for amounts in orphaned)
            ceiling = most if name == ROOT else _ceiling(group, resource)
            if ceiling is not None and charges[name] > ceiling:
                yield f"group {name!r} has {charges[name]} of {resource}, at most {ceiling} may be"


def _guarantee(group: Group, resource: str) -> int:
    entry = group.entry("default")
    if entry is None:
        return 0
    promised = entry.min.get(resource, 0)
    return max(0, promised - entry.lending_limit.get(resource, promised if group.allow_lending else 0))


def _ceiling(group: Group, resource: str) -> int | None:
    """None: no limit of its own; an ancestor's binds."""
    entry = group.entry("default")
    if entry is None:
        return None
    limits = [entry.max[resource]] if resource in entry.max else []
    if resource in entry.borrowing_limit:
        limits.append(entry.min.get(resource, 0) + entry.borrowing_limit[resource])
    return min(limits, default=None)
