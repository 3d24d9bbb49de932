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
from shared.kinds.kind_object import KindObject
from shared.quota.model.read.pods import account_of, is_covered
from shared.quota.model.tree import ROOT, Group, Tree
from shared.resources import sum_amounts
from tests.chaos.judging.history.history import Version
from tests.chaos.judging.history.records import Lease, Shutter, Submitted, account_key, is_child

Amounts = dict[str, int]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Instant:
    """What there was right after one version."""

    received: datetime
    jobs: Mapping[str, Job]
    pods: Mapping[str, Pod]
    """Plain pods alone."""
    objects: Mapping[str, KindObject]
    made: Mapping[str, Mapping[str, Pod]]
    """By the accounts of these, their pods that have not ended."""
    tree: Tree
    closed: frozenset[str] = frozenset()
    """Nodes that take no pods."""
    orphaned: Mapping[str, int] = field(default_factory=dict)
    """resource -> base units that pods on nodes hold whose owner is deleted."""

    def find(self, uid: str) -> Submitted | None:
        """What a user has submitted under that uid."""
        return self.jobs.get(uid) or self.pods.get(uid) or self.objects.get(uid)

    def submitted(self) -> Iterator[Submitted]:
        """All that users have submitted."""
        yield from self.jobs.values()
        yield from self.pods.values()
        yield from self.objects.values()


@dataclass(slots=True)
class Replay:
    """Applies the versions in order. `lag`: how far behind the stored state a decision may be."""

    lag: timedelta
    jobs: dict[str, Job] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    objects: dict[str, KindObject] = field(default_factory=dict)
    lease: Lease = field(default_factory=lambda: Lease(""))
    lease_writer: str = ""
    _lost_lease: dict[str, datetime] = field(default_factory=dict)
    """Writer -> when the API server received the request by which another one took the Lease."""
    _groups: dict[str, Group] = field(default_factory=dict)
    _pods_of: dict[str, dict[str, Pod]] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _owners: dict[str, str] = field(default_factory=dict)
    """Pod -> the account of what it was made for."""
    _children: dict[str, dict[str, Job]] = field(default_factory=dict)
    """Account of an object of a governed kind -> the Jobs that its operator has made."""
    _made_jobs: set[str] = field(default_factory=set)
    _succeeded: dict[str, set[str]] = field(default_factory=dict)
    """Job -> its pods that have succeeded."""
    _made: dict[str, Mapping[str, Pod]] = field(default_factory=dict)
    """As `_pods_of`, of objects of governed kinds; no value is ever changed."""
    _stored_at: dict[str, int] = field(default_factory=dict)
    """Pod -> the revision that first showed it; anything else -> that of its latest version."""
    _instants: deque[Instant] = field(default_factory=deque)
    _closed: frozenset[str] = frozenset()
    _tree: Tree = field(default_factory=lambda: Tree.of(()))

    def observe(self, version: Version) -> None:
        """Take in the next version."""
        record = version.record
        self._known.add(version.uid)
        if not isinstance(record, Pod) or version.uid not in self._stored_at:
            self._stored_at[version.uid] = version.revision
        if isinstance(record, Lease):
            self._observe_lease(record, version)
            return
        if isinstance(record, Job) and is_child(record):
            controller = record.metadata.controller
            account = f"{controller.uid if controller else ''}@{record.metadata.namespace}"
            self._made_jobs.add(version.uid)
            _put(self._children.setdefault(account, {}), version.uid, None if version.gone else record)
            return
        if isinstance(record, Job):
            _put(self.jobs, version.uid, None if version.gone else record)
        elif isinstance(record, Pod) and is_covered(record):
            account = self._observe_covered_pod(record, version)
            if not record.metadata.unit:
                return
            self._made[account] = dict(self._pods_of[account])
        elif isinstance(record, Pod):
            self._orphan(version.uid)
            _put(self.pods, version.uid, None if version.gone else record)
        elif isinstance(record, KindObject):
            _put(self.objects, version.uid, None if version.gone else record)
        elif isinstance(record, Shutter):
            self._closed = self._closed | {record.node} if record.is_down else self._closed - {record.node}
        else:
            _put(self._groups, record.name, None if version.gone else record)
            self._tree = Tree.of(self._groups.values())
        self._remember(version.received)

    def _observe_lease(self, lease: Lease, version: Version) -> None:
        self.lease = lease
        if lease.holder:
            if self.lease_writer != version.writer:
                self._lost_lease[self.lease_writer] = version.received
            self.lease_writer = version.writer

    def may_lead(self, version: Version) -> bool:
        """Whether its writer held the Lease when the API server received it.

        It may be stored later: docs/decisions/0008-late-writes-of-a-previous-leader.md.
        """
        lost = self._lost_lease.get(version.writer)
        return version.writer == self.lease_writer or (lost is not None and version.received < lost)

    def knows(self, uid: str) -> bool:
        """Whether it existed before: as a Job's pod, or before a removal that the log showed too early."""
        return uid in self._known

    def is_made(self, record: Job | Pod) -> bool:
        """Whether an object of a governed kind made it, or a Job that such an object made."""
        return is_child(record) or (isinstance(record, Pod) and record.owner_job in self._made_jobs)

    def _orphan(self, pod: str) -> None:
        self._pods_of.get(self._owners.get(pod, ""), {}).pop(pod, None)

    def _observe_covered_pod(self, pod: Pod, version: Version) -> str:
        """Take in a pod that something else accounts for; return what does."""
        account = self._owners[version.uid] = account_of(pod) or ""
        if pod.status.phase == "Succeeded" and pod.owner_job:
            self._succeeded.setdefault(pod.owner_job, set()).add(version.uid)
        running = self._pods_of.setdefault(account, {})
        running.pop(version.uid, None)
        if not version.gone and not pod.has_ended:
            running[version.uid] = pod
        return account

    def _remember(self, received: datetime) -> None:
        copies = dict(self.jobs), dict(self.pods), dict(self.objects), dict(self._made)
        self._instants.append(Instant(received, *copies, self._tree, self._closed, self._orphaned()))
        while self._instants and self._instants[0].received < received - self.lag:
            self._instants.popleft()

    def pods_of(self, owner: Job | KindObject) -> set[str]:
        """The pods made for it that exist and have not ended."""
        return set(self._pods_of.get(account_key(owner), ()))

    def pods_before(self, owner: Job | KindObject) -> set[str]:
        """Return its pods that were there before its latest version was stored."""
        latest = self._stored_at[owner.metadata.uid]
        return {pod for pod in self.pods_of(owner) if self._stored_at[pod] <= latest}

    def instants(self) -> Iterator[Instant]:
        """What a decision written now may have been made on, the latest first."""
        yield from reversed(self._instants)

    def grounds(self, leaf: str) -> list[tuple[Tree, frozenset[str]]]:
        """The trees, and the closed nodes, that a decision about work of `leaf` may have been made on."""
        found = {(id(each.tree), each.closed): each for each in self._instants if leaf in each.tree}
        return [(each.tree, each.closed) for each in found.values()] or [(self._tree, self._closed)]

    def used(self) -> dict[str, Amounts]:
        """Leaf -> what its admitted work holds, until its pods have ended; under "" pods whose owner is deleted."""
        total: dict[str, Amounts] = {}
        for uid, job in self.jobs.items():
            if self._holds(uid, job):
                _add(total, job.metadata.labels.get(GROUP_LABEL, ""), job.spec.template.spec, job.pods_left)
        for seen in self.objects.values():
            for spec, pods in self._sizes(seen):
                _add(total, seen.metadata.labels.get(GROUP_LABEL, ""), spec, pods)
        for pod in self.pods.values():
            if ADMISSION in pod.metadata.annotations and not pod.is_gated and not pod.has_ended:
                _add(total, pod.metadata.labels.get(GROUP_LABEL, ""), pod.spec, 1)
        orphaned = self._orphaned()
        return {**total, "": sum_amounts([total.get("", {}), orphaned])} if orphaned else total

    def _orphaned(self) -> Mapping[str, int]:
        """What pods hold that have a node, and whose owner is deleted."""
        gone = self._pods_of.keys() - self.jobs.keys() - set(map(account_key, self.objects.values()))
        pods = (pod for owner in gone for pod in self._pods_of[owner].values() if pod.spec.node_name)
        return sum_amounts(effective_request(pod.spec) for pod in pods)

    def _holds(self, uid: str, job: Job) -> bool:
        if job.has_finished:
            return False
        return not job.spec.suspend or job.has_pods or bool(self._pods_of.get(uid))

    def _sizes(self, seen: KindObject) -> Iterator[tuple[PodSpec, int]]:
        """What an object of a governed kind holds: all that it declares while it runs, else what is left of it.

        That is pods that have not ended, and pods that its Jobs may still make: those that nobody has suspended yet.
        """
        if not seen.suspended and not seen.finished:
            yield from ((each.spec, each.count) for each in seen.pod_sets)
            return
        account = account_key(seen)
        pods = self._pods_of.get(account, {})
        for pod in pods.values():
            yield pod.spec, 1
        for uid, job in self._children.get(account, {}).items():
            if not job.spec.suspend and not job.has_finished and not job.metadata.is_deleting:
                there = sum(pod.owner_job == uid for pod in pods.values())
                # Its status might not yet count pods that have succeeded.
                left = (job.spec.completions or 1) - len(self._succeeded.get(uid, ()))
                yield job.spec.template.spec, max(0, min(job.pods_left, left) - there)


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
    """Each group whose charge is above its ceiling, and root above capacity, as text.

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
