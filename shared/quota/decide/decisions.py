"""The decisions of one cycle: start, evict, give notice, end a claim; and why a pending workload keeps waiting.

Decisions are values. The executor writes each as one patch on the workload itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.static.static_state import AmountByKey
from shared.quota.model.workload import Claim, Eviction, EvictionReason, Flavors, Turn, Workload, WorkloadId
from shared.resources import Amount, FlavorResource


class Tier(StrEnum):
    """On what basis a workload starts: its leaf's own runtime, or room that others leave idle."""

    ENTITLED = "entitled"
    OPPORTUNISTIC = "opportunistic"


class EvictionRule(StrEnum):
    """Which rule took the quota away; finer than the reason."""

    RECLAIM = "Reclaim"
    PREEMPTION = "Preemption"
    SWAP = "Swap"
    STRICT = "Strict"
    CEILING = "Ceiling"
    CAPACITY = "Capacity"
    STARTUP_TIMEOUT = "StartupTimeout"
    RECOVERY_TIMEOUT = "RecoveryTimeout"
    STOP_POLICY = "StopPolicy"
    RUN_TIME = "RunTime"


class WaitReason(StrEnum):
    """Why a pending workload has not started; stable words for conditions, events and metrics."""

    WAITING_FOR_QUOTA = "WaitingForQuota"
    WAITING_FOR_EVICTIONS = "WaitingForEvictions"
    ROOM_DELAYED = "RoomDelayed"
    ROOM_KEPT_FOR_OTHERS = "RoomKeptForOthers"
    BEYOND_MIN = "BeyondMin"
    BEHIND_HEAD = "BehindHead"
    NEVER_FITS = "NeverFits"
    NO_NODE_FITS = "NoNodeFits"
    NO_ELIGIBLE_FLAVOR = "NoEligibleFlavor"
    PODS_NOT_READY = "PodsNotReady"
    GROUP_STOPPED = "GroupStopped"
    GROUP_INACTIVE = "GroupInactive"
    NO_LEAF = "NoLeaf"
    HELD = "Held"
    BACKING_OFF = "BackingOff"
    DEACTIVATED = "Deactivated"
    NO_LEADER = "NoLeader"
    """It would start, or room would be freed for it, if a reconciler led. No cycle finds this: see `outlook`."""


@dataclass(frozen=True, slots=True)
class Start:
    """Admit this workload in these flavors. `on_claim`: in room that was freed for it."""

    workload: Workload
    flavors: Flavors
    tier: Tier
    on_claim: bool = False


@dataclass(frozen=True, slots=True)
class Requeue:
    """The place and back-off that an evicted workload gets in its queue, written with the eviction."""

    queued: datetime
    not_before: datetime | None = None
    failed_starts: int = 0
    deactivated: bool = False
    released: datetime | None = None
    """When its owner last queued it again, where that still counts."""


@dataclass(frozen=True, slots=True)
class Evict:
    """Stop this workload. `claim` names the preemptor that its room is for; None: no single preemptor."""

    workload: Workload
    reason: EvictionReason
    rule: EvictionRule
    requeue: Requeue
    claim: Claim | None = None
    message: str = ""

    def as_eviction(self, at: datetime) -> Eviction:
        """Return what the workload says of it once it is written."""
        if self.claim is None:
            return Eviction(self.reason, at, self.rule.value)
        claim = self.claim
        return Eviction(self.reason, at, self.rule.value, claim.preemptor, claim.preemptor_uid, claim.preemptor_group)


@dataclass(frozen=True, slots=True)
class Notice:
    """Announce to this running workload that it will be evicted at `evict_at` unless the need passes."""

    workload: Workload
    reason: EvictionReason
    evict_at: datetime
    preemptor: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """Give this waiting workload a turn: from the next cycle on its request counts as its group's."""

    workload: Workload
    turn: Turn


@dataclass(frozen=True, slots=True)
class ClaimEnd:
    """The claim written on this victim ends although its preemptor has not started."""

    victim: Workload
    reason: str


@dataclass(frozen=True, slots=True)
class WaitExplanation:
    """Why one pending workload waits: the node, flavor and resource that bind, and how much is missing there.

    The last four are empty or 0 where no amount is missing (a hold, a stopped group, a back-off).
    """

    workload: Workload
    reason: WaitReason
    message: str
    binding: str = ""
    flavor: str = ""
    resource: str = ""
    missing: Amount = 0
    behind: Workload | None = None
    """The workload for which it waits, where it waits for one: the head of its queue, or one whose pods are not ready.
    The message names it only if it is in the same namespace."""


Charges = Mapping[tuple[str, FlavorResource], Amount]
"""(group, key) -> what the group costs its parent there; only where that differs from the snapshot's numbers."""


@dataclass(frozen=True, slots=True)
class LeafSums:
    """What a cycle has made of one leaf: what it uses, what is reserved in it, what of both is not preemptible."""

    used: AmountByKey
    claimed: AmountByKey
    non_preemptible: AmountByKey


@dataclass(frozen=True, slots=True)
class EndState:
    """How a cycle left the usage, and whom it passed over: what `outlook.explain` computes reasons from.

    Only what the cycle has changed; the rest is in the numbers of `snapshot`.
    """

    snapshot: Snapshot = field(compare=False, repr=False)
    """The last numbers of the cycle: its first `measured_after` starts are measured in them."""
    current: Charges
    """With all workloads whose pods have not ended."""
    after_evictions: Charges
    """Without those that were being evicted already, and with the claims on their capacity."""
    planned: Charges
    """That without the plan's victims, with its preemptors and all reservations."""
    leaves: Mapping[str, LeafSums]
    wait_reasons: Mapping[WorkloadId, WaitReason]
    """Why the cycle passed over a workload, where the numbers alone do not show it."""
    blocked_by: Workload | None
    """A workload whose pods are not ready, which blocks admission in the whole cluster."""
    blocked_leaves: Mapping[str, Workload]
    """leaf -> a workload whose pods are not ready, which blocks admission in its leaf."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All decisions of one cycle, each list in the order of execution. Equal inputs give equal plans.

    A plan is data and never changes; why a workload waits is computed from it, and from nothing else, when needed.
    """

    now: datetime
    starts: tuple[Start, ...]
    evictions: tuple[Evict, ...]
    notices: tuple[Notice, ...]
    notices_withdrawn: tuple[Workload, ...]
    claims_ended: tuple[ClaimEnd, ...]
    turns_begun: tuple[TurnStart, ...]
    """Of workloads that this cycle does not start: the start of the others writes their turn."""
    turns_ended: tuple[Workload, ...]
    """Waiting workloads whose turn does not hold any more."""
    end: EndState
    over_since: OverSince
    wake_at: datetime | None
    """When time alone might change the next plan; None: only a change in the world can."""
    next_turn: datetime | None = None
    """When the patience of a head that might have a turn is over next, or the rest of a turn begins or ends."""
    next_end: datetime | None = None
    """When the run time of a workload is over next, or notice of that is due."""
    measured_after: tuple[int, ...] = ()
    """After how many of `starts` the numbers were measured again, each time; the rest was decided on the last ones."""

    @property
    def deactivations(self) -> tuple[Evict, ...]:
        """The evictions after which the workload stays stopped until a person resumes it."""
        return tuple(evict for evict in self.evictions if evict.requeue.deactivated)

    @property
    def is_idle(self) -> bool:
        """Whether this cycle changes nothing in the world."""
        of_turns = self.turns_begun or self.turns_ended
        of_claims = self.notices or self.notices_withdrawn or self.claims_ended
        return not (self.starts or self.evictions or of_claims or of_turns)
