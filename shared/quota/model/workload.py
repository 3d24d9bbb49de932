"""A workload: one Job, one pod or one group of pods, as the API server shows it.

A workload is pending (no admission), running (an admission), or being evicted (an admission and an eviction: its pods
have not all ended). A claim stays on the victim until the preemptor has started or the claim ends
(docs/specification.md §7.11).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.core.placement import ANYWHERE, Placement
from shared.api.names import MAIN_POD_SET
from shared.api.owner_settings import AS_ITS_GROUP, UNKNOWN_RUN_TIME, OwnRunTime, OwnStartup
from shared.quota.model.tree import Amounts
from shared.resources import Amount, FlavorResource

ResourceFlavors = Mapping[str, str]
"""resource -> flavor, for the pods of one set."""
Flavors = Mapping[str, ResourceFlavors]
"""pod set -> resource -> flavor: what an admission assigned. A workload with one pod set calls it MAIN_POD_SET."""

NOTHING_CLOSED: Final[Mapping[FlavorResource, Amount]] = MappingProxyType({})


class WorkloadId(NamedTuple):
    """The identity of a workload: unique in a cluster at one time."""

    kind: str
    key: str


class PreemptorId(NamedTuple):
    """The preemptor of a claim: its uid, so that a later object of its name is another one; without a uid, its name."""

    key: str
    uid: str


def preemptor_id_of(key: str, uid: str) -> PreemptorId:
    """Return the id of the workload with this namespace/name and this uid, which is empty in files alone."""
    return PreemptorId("" if uid else key, uid)


def namespace_of(key: str) -> str:
    """Return the namespace of a namespace/name."""
    return key.partition("/")[0]


def flavor_names(flavors: Flavors) -> set[str]:
    """Return every flavor that some pod set has."""
    return {flavor for own in flavors.values() for flavor in own.values()}


class EvictionReason(StrEnum):
    """Why an admitted workload lost its quota; stable words for conditions, events and metrics."""

    RECLAIMED = "Reclaimed"
    PREEMPTED = "Preempted"
    OVER_CEILING = "OverCeiling"
    CAPACITY_LOST = "CapacityLost"
    PODS_READY_TIMEOUT = "PodsReadyTimeout"
    GROUP_STOPPED = "GroupStopped"
    OVER_TIME = "OverTime"
    SUSPENDED = "Suspended"
    """By its owner; never a decision of the engine."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Quota that was freed for a preemptor: for which one, in which flavors, since when."""

    preemptor: str
    """namespace/name; empty where only the uid is known: what is written on a victim names no workload elsewhere."""
    preemptor_uid: str
    flavors: Flavors
    made: datetime
    swap: bool = False
    """Made by a swap inside one leaf; such a claim may be withdrawn for an entitled preemptor of another group."""
    preemptor_group: str = ""

    @property
    def preemptor_id(self) -> PreemptorId:
        """The workload that the claim is for."""
        return preemptor_id_of(self.preemptor, self.preemptor_uid)


@dataclass(frozen=True, slots=True)
class Admission:
    """Quota in use: in which flavors, since when (the latest start), and whether the pods are ready."""

    flavors: Flavors
    since: datetime
    ready: bool = False
    was_ready: bool = False
    unready_since: datetime | None = None
    answered: bool = True
    """Whether the Job controller has observed the start. Before that it may be creating pods that no watch has shown,
    so the end of its pods could not be observed: the workload is not stopped yet."""
    on_closed_nodes: Mapping[FlavorResource, Amount] = field(default_factory=lambda: NOTHING_CLOSED)
    """What its pods hold on nodes that take no more pods: capacity for as long as it runs, and for nobody else then."""
    pod_group_refusal: str = ""
    """Why the PodGroup was refused without which kube-scheduler places none of its pods; empty: it was not."""
    adopted: bool = False
    """Whether the workload was found running: nobody has judged its label, so it is preemptible whatever that says."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """Quota being given up: why and since when. Kept while pending again, as the last eviction."""

    reason: EvictionReason
    at: datetime
    rule: str = ""
    """The rule that evicted it, a value of `EvictionRule`; empty where it is not recorded."""
    preemptor: str = ""
    """namespace/name of the workload that it made room for; empty: none, or one of another namespace."""
    preemptor_uid: str = ""
    preemptor_group: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a workload larger than its group's share was given: so much counts as its group's, in these flavors.

    It lasts until the workload has ended. docs/specification.md §6.11.
    """

    flavors: Flavors
    since: datetime


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one workload that are alike: what they request together, how many they are, where they may run."""

    name: str
    request: Amounts
    pods: int = 1
    """How many pods share `request` equally; 0: they are not alike, or it has none."""
    placement: Placement = ANYWHERE


@dataclass(frozen=True, slots=True)
class Workload:
    """What is admitted as a whole. `request`: of all its pods, in base units, ignored resources left out.

    `key` is namespace/name, unique together with `kind`. `queued` orders it within its leaf after priority.
    """

    key: str
    group: str
    request: Amounts
    created: datetime
    queued: datetime
    uid: str = ""
    kind: str = "Job"
    user: str = ""
    """Who created it, where the review saw a person; empty: a controller, which counts for its namespace."""
    priority: int = 0
    priority_source: str = ""
    """What gives it this priority, in words; empty: nothing does."""
    preemptible: bool = True
    only_flavor: str | None = None
    max_run_time: timedelta | None = None
    """How long it may run, as its owner declares; None: as long as its group lets it."""
    run_time: OwnRunTime = UNKNOWN_RUN_TIME
    """How long it will run, as it says itself; no decision reads it."""
    startup: OwnStartup = AS_ITS_GROUP
    """How it starts up, as its owner declares."""
    placement: Placement = ANYWHERE
    pods: int = 1
    """As in PodSet, when it has one set of pods."""
    pod_sets: tuple[PodSet, ...] = ()
    """Its sets of pods in the order in which they get flavors; empty: it has one, that `request`, `pods` and
    `placement` describe. Else `request` is that of all sets together, and the other two mean nothing."""
    admission: Admission | None = None
    eviction: Eviction | None = None
    claim: Claim | None = None
    hold: bool = False
    hold_reason: str = ""
    """Why it is on hold, in words; empty: its owner holds it."""
    gates: tuple[str, ...] = ()
    """Labels by which others hold it, sorted."""
    deactivated: bool = False
    not_before: datetime | None = None
    notice: datetime | None = None
    turn: Turn | None = None
    failed_starts: int = 0
    evictions: int = 0
    """How often Quotree has evicted it, the eviction under way included."""
    blocked_flavors: frozenset[str] = frozenset()
    """Flavors whose labels conflict with the pods' own; known after a refused start."""

    @property
    def sets(self) -> tuple[PodSet, ...]:
        """Its pod sets, also when it has only one."""
        return self.pod_sets or (PodSet(MAIN_POD_SET, self.request, self.pods, self.placement),)

    @property
    def id(self) -> WorkloadId:
        """Kind and namespace/name."""
        return WorkloadId(self.kind, self.key)

    def named_for(self, other: "Workload") -> str:
        """Return how messages in the other workload's namespace name this one: by its group if it is elsewhere."""
        if namespace_of(self.key) == namespace_of(other.key):
            return f"{self.kind} {self.key!r}"
        return f"a workload of group {self.group!r}"

    @property
    def preemptor_id(self) -> PreemptorId:
        """The id by which a claim names this workload."""
        return preemptor_id_of(self.key, self.uid)

    @property
    def is_left_over(self) -> bool:
        """Whether it stands for what a deleted or finished workload has left: pods that end, or a claim."""
        return "/" in self.kind

    @property
    def on_closed_nodes(self) -> Mapping[FlavorResource, Amount]:
        """What its pods hold on nodes that take no more pods."""
        return NOTHING_CLOSED if self.admission is None else self.admission.on_closed_nodes

    def holding_on_closed_nodes(self, amounts: Mapping[FlavorResource, Amount]) -> "Workload":
        """Return it with what its pods hold on nodes that take no more pods; the same object if it says so already."""
        if self.admission is None or amounts == self.admission.on_closed_nodes:
            return self
        return replace(self, admission=replace(self.admission, on_closed_nodes=amounts))

    @property
    def is_pending(self) -> bool:
        """Waiting for quota, or for its hold, back-off or deactivation to end."""
        return self.admission is None

    @property
    def is_answered(self) -> bool:
        """Whether it could be stopped now: the Job controller has observed its start."""
        return self.admission is None or self.admission.answered

    @property
    def is_evicting(self) -> bool:
        """Losing its quota: its pods have not all ended."""
        return self.admission is not None and self.eviction is not None
