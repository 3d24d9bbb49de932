"""Events about decisions: one per start, and one each on victim and preemptor per eviction.

See docs/specification.md §9.3.
"""

from typing import Final

from shared.api.names import API_VERSION, MAIN_POD_SET, POD_GROUP_REFUSED, SCHEDULER_PREEMPTED
from shared.cluster.state.faults.register import REASON, Fault
from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.follow_ups import PreemptedPods
from shared.kube.events.note import EventType, Regarding
from shared.kube.events.recorder import EventRecorder
from shared.quota.decide.decisions import Evict, Notice, Start, TurnStart, WaitExplanation, WaitReason
from shared.quota.measure.static.using_pods import UsingPod
from shared.quota.model.workload import Flavors, ResourceFlavors, Workload

_NEEDS_A_PERSON: Final = frozenset(
    {
        WaitReason.NEVER_FITS,
        WaitReason.NO_NODE_FITS,
        WaitReason.NO_ELIGIBLE_FLAVOR,
        WaitReason.DEACTIVATED,
        WaitReason.NO_LEAF,
    }
)
"""Reasons that do not end by waiting."""
_KNOWN_KINDS: Final = {"Job": "batch/v1", "Pod": "v1", "Node": "v1", "ResourceFlavor": API_VERSION}
"""kind -> API version."""


class WorkloadEvents:
    """Records events; no method waits or fails."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def started(self, start: Start, objects: list[WorkloadObject]) -> None:
        """Quota was assigned."""
        text = f"group {start.workload.group} admits it, {start.tier.value}: {_flavors_text(start.flavors)}"
        self._record(objects, EventType.NORMAL, "Started", "Start", text)

    def start_refused(self, start: Start, objects: list[WorkloadObject], what_then: str) -> None:
        """The API server or a webhook did not accept the start."""
        text = f"could not be started in {_flavors_text(start.flavors)}; {what_then}"
        self._record(objects, EventType.WARNING, "StartRefused", "Start", text)

    def waits(self, waiting: WaitExplanation, objects: list[WorkloadObject]) -> None:
        """The workload has been pending for some time, for this reason."""
        kind = EventType.WARNING if waiting.reason in _NEEDS_A_PERSON else EventType.NORMAL
        self._record(objects, kind, waiting.reason.value, "Wait", waiting.message)

    def not_placed(self, workload: Workload, reasons: list[str], objects: list[WorkloadObject]) -> None:
        """Pods of a started workload have no node within its startup timeout; `reasons`: one for each such pod."""
        text = f"{workload.kind} {workload.key!r} was started and does not run: {placement_text(reasons)}"
        self._record(objects, EventType.WARNING, "NotPlaced", "Start", text)

    def pod_group_refused(self, refusal: str, objects: list[WorkloadObject]) -> None:
        """The API server refuses the PodGroup of a started Job."""
        text = f"was started, and kube-scheduler places none of its pods before their PodGroup exists: {refusal}"
        self._record(objects, EventType.WARNING, POD_GROUP_REFUSED, "Start", text)

    def preempted_by_scheduler(self, found: PreemptedPods) -> None:
        """Pods of the workload are stopped by kube-scheduler, which knows no quota."""
        text = (
            f"kube-scheduler, not Quotree, stops {found.pods} of its pods, for pods of a higher PriorityClass that fit "
            f"on no node beside them; what group {found.workload.group} may use has not changed"
        )
        self._record(found.objects, EventType.WARNING, SCHEDULER_PREEMPTED, "Preempt", text)

    def evicted(self, evict: Evict, objects: list[WorkloadObject], preemptor: list[WorkloadObject]) -> None:
        """Quota was reclaimed: one event for the victim, and one for the preemptor, however many victims it has."""
        message = evict.message or f"its quota in group {evict.workload.group} is reclaimed ({evict.rule.value})"
        self._record(objects, EventType.WARNING, evict.reason.value, "Evict", message)
        if preemptor:
            text = f"a workload of group {evict.workload.group} is evicted for it ({evict.rule.value})"
            self._record(preemptor, EventType.NORMAL, "RoomReclaimed", "Evict", text)

    def eviction_refused(self, evict: Evict, objects: list[WorkloadObject], message: str) -> None:
        """The API server or a webhook did not accept the eviction."""
        self._record(objects, EventType.WARNING, "EvictionRefused", "Evict", f"{evict.reason.value}: {message}")

    def pod_not_evicted(self, pod: str, objects: list[WorkloadObject], why: str) -> None:
        """The API server fails at the pod's eviction each time."""
        text = f"its pod {pod} cannot be evicted, and is deleted after reclaim.evictionTimeout: {why}"
        self._record(objects, EventType.WARNING, "EvictionRefused", "Evict", text)

    def pod_deleted(self, pod: str, objects: list[WorkloadObject], preemptor: list[WorkloadObject]) -> None:
        """The pod's eviction was refused, or has failed, for too long."""
        text = f"its pod {pod} is deleted: PodDisruptionBudgets kept it from being evicted for reclaim.evictionTimeout"
        self._record(objects, EventType.WARNING, "EvictionTimedOut", "Evict", text)
        text = "a pod that is evicted for it is deleted: PodDisruptionBudgets kept it from being evicted for too long"
        self._record(preemptor, EventType.NORMAL, "EvictionTimedOut", "Evict", text)

    def noticed(self, notice: Notice, objects: list[WorkloadObject]) -> None:
        """An eviction is coming."""
        when = notice.evict_at.isoformat(timespec="seconds")
        text = f"will be evicted at {when} unless that becomes unnecessary: {notice.message or notice.reason.value}"
        self._record(objects, EventType.WARNING, "EvictionNotice", "Notice", text)

    def turn_began(self, begun: TurnStart, objects: list[WorkloadObject]) -> None:
        """Its request counts as its group's until it has ended."""
        text = (
            f"it is larger than what group {begun.workload.group} has beside others, and has its turn now: what it "
            "requests is left for it as soon as it is free"
        )
        self._record(objects, EventType.NORMAL, "TurnBegan", "Decide", text)

    def wrong(self, problems: tuple[str, ...], objects: list[WorkloadObject]) -> None:
        """An annotation or label of the workload is invalid."""
        self._record(objects, EventType.WARNING, "NotAsWritten", "Read", "; ".join(problems))

    def stray(self, pod: UsingPod) -> None:
        """The pod's controller has finished or waits, and does not account for it."""
        about = Regarding(api_version="v1", kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid)
        text = (
            "runs, but its controller has finished or waits: it counts as an unmanaged pod, against the capacity "
            "of all; delete it, or take its owner reference away so that its group counts it"
        )
        self._recorder.record(about, EventType.WARNING, reason="StrayPod", action="Read", note=text)

    def orphaned(self, workload: Workload, objects: list[WorkloadObject]) -> None:
        """The admitted workload names a group that can have no workloads."""
        text = f"group {workload.group} can have no workloads"
        self._record(objects, EventType.WARNING, WaitReason.NO_LEAF.value, "Read", text)

    def set_aside(self, fault: Fault, objects: list[WorkloadObject]) -> None:
        """Quotree has met a fault of its own on this workload, flavor or node."""
        if objects:
            self._record(objects, EventType.WARNING, REASON, "Read", fault.message)
            return
        subject = fault.subject
        namespace, _, name = subject.name.rpartition("/")
        kind = _KNOWN_KINDS.get(subject.kind)
        if kind is not None:
            about = Regarding(api_version=kind, kind=subject.kind, name=name, namespace=namespace, uid=subject.uid)
            self._recorder.record(about, EventType.WARNING, reason=REASON, action="Read", note=fault.message)

    def adopted(self, group: str, objects: list[WorkloadObject], flavors: Flavors) -> None:
        """A workload that ran without an admission is counted from now on."""
        text = f"runs without an admission; group {group} counts it from now on: {_flavors_text(flavors)}"
        self._record(objects, EventType.NORMAL, "Adopted", "Adopt", text)

    def _record(self, objects: list[WorkloadObject], kind: EventType, reason: str, action: str, text: str) -> None:
        for each in objects[:1]:
            self._recorder.record(regarding(each), kind, reason=reason, action=action, note=text)


def placement_text(reasons: list[str]) -> str:
    """Return how many pods have no node, and why, in the words of the scheduler."""
    first = min(set(reasons), key=lambda each: (-reasons.count(each), each))
    return f"{len(reasons)} of its pods {'has' if len(reasons) == 1 else 'have'} no node ({first})"


def regarding(target: WorkloadObject) -> Regarding:
    """Return the object reference of the event."""
    api_version, kind = sort_of(target).type_of(target)
    seen = target.metadata
    return Regarding(
        api_version=api_version,
        kind=kind,
        name=seen.name,
        namespace=seen.namespace,
        uid=seen.uid,
    )


def _flavors_text(flavors: Flavors) -> str:
    if flavors.keys() <= {MAIN_POD_SET}:
        return _set_text(flavors.get(MAIN_POD_SET, {}))
    return "; ".join(f"{name}: {_set_text(own)}" for name, own in flavors.items())


def _set_text(flavors: ResourceFlavors) -> str:
    return ", ".join(f"{resource} from {flavors[resource]}" for resource in sorted(flavors)) or "no counted resource"
