"""What a pod says: its own spec and status, and the same spec inside a Job's template."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from shared.api.conditions import ObservedCondition, is_true
from shared.api.core.metadata import Metadata
from shared.api.json.reading import Int32, ResourceList, View, reader
from shared.api.names import GATE


class ResourceNeeds(View, frozen=True):
    """`resources` of a container or a whole pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}


class Container(View, frozen=True):
    """A container or init container; `restart_policy` Always makes the latter a sidecar."""

    name: str = ""
    resources: ResourceNeeds = ResourceNeeds()
    restart_policy: str = ""


class TolerationView(View, frozen=True):
    """A toleration as written."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class RequirementView(View, frozen=True):
    """One match expression as written."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(View, frozen=True):
    """A conjunction over node labels and node fields; wholly empty it matches no node."""

    match_expressions: list[RequirementView] = []
    match_fields: list[RequirementView] = []


class NodeSelector(View, frozen=True):
    """A disjunction of terms."""

    node_selector_terms: list[NodeSelectorTerm] = []


class NodeAffinity(View, frozen=True):
    """The required part of a node affinity; preferences do not bind."""

    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(View, frozen=True):
    """The node affinity of a pod: pod affinity says nothing about kinds of nodes."""

    node_affinity: NodeAffinity | None = None


class SchedulingGate(View, frozen=True):
    """One reason why the scheduler must not look at the pod yet."""

    name: str = ""


class PodResourceClaim(View, frozen=True):
    """A claim of the pod for devices: one by name, or one that is made for it from a template.

    With both names it is the claim of the first, made from the second: see `with_made_claims`.
    """

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class SchedulingGroup(View, frozen=True):
    """The PodGroup with whose pods kube-scheduler places a pod."""

    pod_group_name: str = ""


class PodSpec(View, frozen=True):
    """The parts of a pod spec that decide its request, its place and its priority."""

    containers: list[Container] = []
    init_containers: list[Container] = []
    resources: ResourceNeeds | None = None
    overhead: ResourceList = {}
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[TolerationView] = []
    priority: Int32 | None = None
    priority_class_name: str = ""
    runtime_class_name: str = ""
    scheduling_gates: list[SchedulingGate] = []
    node_name: str = ""
    resource_claims: list[PodResourceClaim] = []
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None

    @property
    def goes_nowhere(self) -> bool:
        """Whether its affinity has no term, so that no node matches.

        Kubernetes stores no such affinity: it stands for one that is too large to be read.
        """
        node_affinity = None if self.affinity is None else self.affinity.node_affinity
        required = None if node_affinity is None else node_affinity.required
        return required is not None and not required.node_selector_terms


class PodCondition(ObservedCondition, frozen=True):
    """A condition of a pod."""

    message: str = ""


class MadeClaim(View, frozen=True):
    """Which claim was made for a claim of the pod's spec; it has that one's `name`."""

    name: str = ""
    resource_claim_name: str = ""


class PodStatus(View, frozen=True):
    """The status of a pod: how far it has come."""

    phase: str = "Pending"
    conditions: list[PodCondition] = []
    start_time: datetime | None = None
    resource_claim_statuses: list[MadeClaim] = []


class Pod(View, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_gated(self) -> bool:
        """Whether Quotree still holds it."""
        return any(gate.name == GATE for gate in self.spec.scheduling_gates)

    @property
    def has_ended(self) -> bool:
        """Whether its containers have stopped for good, so that it uses nothing more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def never_starts(self) -> bool:
        """Whether it is being deleted before it was let go; a finalizer might keep it for long."""
        return self.metadata.is_deleting and self.is_gated

    @property
    def is_ready(self) -> bool:
        """Ready, or done."""
        return self.status.phase == "Succeeded" or is_true(self.status.conditions, "Ready")

    @property
    def unplaced(self) -> str:
        """Why the scheduler has found no node for it, in its words; empty where it has, or has not looked yet."""
        found = (each for each in self.status.conditions if each.type == "PodScheduled" and each.status == "False")
        return next((each.message for each in found if each.reason == "Unschedulable"), "")

    @property
    def is_preempted(self) -> bool:
        """Whether kube-scheduler has chosen to stop it, for a pod of a higher PriorityClass."""
        return any(
            each.type == "DisruptionTarget" and each.reason == "PreemptionByScheduler" and each.status == "True"
            for each in self.status.conditions
        )

    @property
    def owner_job(self) -> str | None:
        """The uid of the Job that controls it, or None."""
        owner = self.metadata.controller
        is_job = owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/")
        return owner.uid if owner is not None and is_job else None


def with_made_claims(pod: Pod) -> Pod:
    """Return the pod with the names of the claims that were made for it beside the templates in its spec."""
    if not pod.spec.resource_claims:
        return pod
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    claims = [
        msgspec.structs.replace(each, resource_claim_name=each.resource_claim_name or made.get(each.name, ""))
        for each in pod.spec.resource_claims
    ]
    spec = msgspec.structs.replace(pod.spec, resource_claims=claims)
    status = msgspec.structs.replace(pod.status, resource_claim_statuses=[])
    return msgspec.structs.replace(pod, spec=spec, status=status)


read_pod = reader(Pod)


def read_pod_with_claims(raw: bytes | msgspec.Raw | Mapping[str, object]) -> Pod:
    """Read a pod, with the names of the claims that were made for it. Raises Unreadable."""
    return with_made_claims(read_pod(raw))
