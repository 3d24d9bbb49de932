"""Owners of pods, pods and devices as the watches report them, and which workloads and nodes that concerns. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from shared.api.core.resource_claim import ClaimDevices
from shared.cluster.state.device_users import DeviceOwner, DeviceUsers, PodTransitions
from shared.cluster.state.faults.register import Faults, Subject
from shared.cluster.state.made_objects import MadeObjects
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.observed.projections import (
    PodRecord,
    identify_owner,
    identify_pod,
    pod_alone,
    pod_of_another,
)
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.cluster.state.workloads.reader import WorkloadReader
from shared.kube.watch.cache import Change, transitions
from shared.quota.measure.inputs.world import World
from shared.quota.measure.static.node_usage import NodeUsage
from shared.quota.measure.static.using_pods import UsingPod
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.namespace_context import NamespaceContexts, Transition
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Group
from shared.resources import Amount, FlavorResource


class OwnersAndPods:
    """What is made of the changes of owners and pods: workloads, and the use of nodes."""

    def __init__(
        self,
        settings: QuotaSettings,
        namespaces: NamespaceContexts,
        faults: Faults,
        admits: Callable[[str, Mapping[str, str]], bool],
        group_of: Callable[[str], Group | None],
    ) -> None:
        self._settings = settings
        self._faults = faults
        self._job_pods = JobPods(settings.ignored_resources)
        reader = WorkloadReader(
            settings,
            namespaces,
            admits,
            self._job_pods.by_set,
            group_of,
            lambda: self.use.now,
            self._job_pods.sums,
            self._on_closed_nodes,
        )
        self.work = WorkloadCache(reader, self._job_pods, faults)
        self.use = NodeUsage(self.work.owners.accounts_for, namespaces.labels, settings)
        self._namespaces = namespaces
        self._device_users = DeviceUsers(namespaces)
        self._made_owners = MadeObjects[DeviceOwner](self._governs, identify_owner, _itself, _nothing)
        self._made_pods = MadeObjects(self._governs, identify_pod, pod_alone, pod_of_another)

    def observe_owners(self, changes: Iterable[Transition[DeviceOwner]]) -> None:
        """Process changes of Jobs and objects of governed kinds, including finished and deleted ones."""
        self._observe_owned(self._made_owners.seen(changes))

    def observe_pods(self, changes: Iterable[Transition[PodRecord]]) -> None:
        """Process changes of pods, including ended and deleted ones."""
        self._observe_made_pods(self._made_pods.seen(changes))

    def observe_claims(self, source: DeviceSource, changes: Sequence[Change[ClaimDevices]]) -> None:
        """Process changes of ResourceClaims and their templates."""
        touched = self._namespaces.observe_claims(source, transitions(changes))
        self.work.observed.read_again(self._device_users.owners_naming(touched))
        self._observe_pods(self._device_users.pods_naming(touched))

    def read_moved(self) -> None:
        """Read the workloads again whose pods are on nodes that have closed or opened, or have ended there."""
        self.work.observed.read_again(filter(self.work.owners.knows, self.use.take_moved()))

    def put_use_into(self, world: World) -> World:
        """Return the world with the nodes, and with what pods outside quota use of them."""
        self.use.count()
        while self.use.uncounted:
            uid, error = self.use.uncounted.popitem()
            self._faults.note(Subject("Pod", self.use.pods.name_of(uid), uid), error)
        world = replace(world, nodes=self.use.nodes(), largest_nodes=self.use.largest_nodes())
        if self._settings.capacity_source is not CapacitySource.NODES:
            return world
        return replace(world, system=self.use.system, unmanaged=self.use.others)

    def stop_waiting_for_pods(self, job: str) -> None:
        """The time limit has passed for the watch to report pods of this deleted owner."""
        self.work.observed.job_pods(job)

    def stop_waiting_for_strays(self, owner: str) -> None:
        """The time limit has passed for pods to end whose controller does not account for them."""
        self.work.owners.stop_waiting_for_strays(owner)
        self._judge_made_again()

    def read_again(self, namespaces: set[str] | None = None) -> None:
        """Read the workloads of these namespaces, or of all, again: their context has changed."""
        self.work.observed.read_namespaces_again(namespaces)
        self._judge_made_again()

    def _observe_owned(self, changes: Iterable[Transition[DeviceOwner]]) -> None:
        for before, after in changes:
            self._device_users.observe_owner(before, after)
            self.work.observed.owner(before, after)
        self._judge_made_again()

    def _observe_made_pods(self, changes: Iterable[Transition[PodRecord]]) -> None:
        self._observe_pods(self._device_users.with_devices([*changes]))

    def _observe_pods(self, changed: PodTransitions) -> None:
        self._note_preempted(changed)
        self.use.observe_pods([(old.using if old else None, new.using if new else None) for old, new in changed])
        owners = self._job_pods.see((_covered(old), _covered(new)) for old, new in changed)
        succeeded = [
            (old.succeeded if old else None, new.succeeded if new else None)
            for old, new in changed
            if (old is not None and old.succeeded) or (new is not None and new.succeeded)
        ]
        if succeeded:
            owners |= self._job_pods.observe_succeeded(succeeded)
        for owner in owners:
            self.work.observed.job_pods(owner)
        for old, new in changed:
            self.work.observed.pod(old.work if old else None, new.work if new else None)
        self._judge_made_again()

    def _note_preempted(self, changed: PodTransitions) -> None:
        """Note which workloads lose pods to kube-scheduler, before a pod that is gone takes its workload with it."""
        for old, new in changed:
            pod = None if new is None else new.using
            if pod is None or not pod.is_preempted or (old is not None and old.using and old.using.is_preempted):
                continue
            workload = self.work.index.workload(pod.owner)
            if workload is not None:
                self.work.follow_ups.add_preempted(pod.owner, workload, self.work.objects.of(pod.owner))

    def _judge_made_again(self) -> None:
        keys = set(self.work.index.added_or_removed)
        self.use.observe_owners(keys)
        self.work.index.added_or_removed.clear()
        owners, pods = self._made_owners.judge_again(keys), self._made_pods.judge_again(keys)
        if owners:
            self._observe_owned(owners)
        if pods:
            self._observe_made_pods(pods)

    def _on_closed_nodes(self, account: str) -> Mapping[FlavorResource, Amount]:
        """Return what the pods of a workload hold on nodes that take no more pods."""
        return self.use.on_closed_nodes(account)

    def _governs(self, key: str) -> bool:
        """Return whether what was made for the object with this key counts for it."""
        return self.work.owners.knows(key) and not self.work.owners.is_made(key)


def _itself(record: DeviceOwner) -> DeviceOwner:
    return record


def _nothing(_: DeviceOwner) -> None:
    return None


def _covered(pod: PodRecord | None) -> UsingPod | None:
    """Return the pod as one of its Job; None if it has none or is a workload of its own."""
    return None if pod is None or pod.work is not None else pod.using
