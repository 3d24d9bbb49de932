"""A workload on one side of a review, before or after the edit; what follows from it is computed once. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from shared.api.annotations import BadAnnotation, InjectedAnnotation, read_injected, write_annotation
from shared.api.core.metadata import Metadata
from shared.api.core.placement import Placement
from shared.api.core.pod import PodSpec
from shared.api.injection import NOTHING
from shared.api.names import INJECTED, is_own
from shared.quota.model.flavor import injection
from shared.quota.model.flavor_placement import conflicts, find_flavors, only_flavors, own_placement
from shared.quota.model.read.jobs import pod_request_of, times
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload
from shared.quota.model.tree import Amounts
from shared.resources import QuantityError
from webhook.workloads.review_context import ReviewContext


def name_of(kind: str, metadata: Metadata) -> str:
    """Return the object's name in violations; for a generated name, its prefix."""
    return f"{kind}/{metadata.name or metadata.generate_name}"


def own_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations that only Quotree writes."""
    return {name: text for name, text in annotations.items() if is_own(name)}


def as_judged(metadata: Metadata, group: str | None) -> Metadata:
    """Return the metadata without what nobody has judged: Quotree's annotations on an object that was in no group."""
    if group is not None or not own_annotations(metadata.annotations):
        return metadata
    kept = {name: text for name, text in metadata.annotations.items() if not is_own(name)}
    return msgspec.structs.replace(metadata, annotations=kept)


def injected_annotation(annotations: dict[str, str]) -> InjectedAnnotation:
    """Return the placement recorded as injected; empty if the annotation is absent or unreadable."""
    try:
        return read_injected(annotations) or NOTHING
    except BadAnnotation:
        return NOTHING


def annotation_of(injected: InjectedAnnotation) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the annotations to set and to remove, so that the object records what was injected."""
    return ({}, (INJECTED,)) if injected == NOTHING else ({INJECTED: write_annotation(injected)}, ())


@dataclass(frozen=True)
class PodSetSide:
    """So many pods of one spec, in the context of a review. What is read of them may raise QuantityError."""

    spec: PodSpec
    pods: int
    context: ReviewContext

    @cached_property
    def pod_request(self) -> Amounts:
        """The request of one pod."""
        return pod_request_of(self.spec, self.context.namespace, self.context.quota.settings)

    @cached_property
    def request(self) -> Amounts:
        """The request of all pods."""
        return times(self.pod_request, self.pods)

    @cached_property
    def peak(self) -> Amounts:
        """The request to compare with that of the other side.

        A missing claim or template counts as a resource of its own, so that it cannot hide growth.
        """
        devices = self.context.namespace.devices
        absent = [] if devices is None else devices.absent(self.spec.resource_claims)
        return {**self.request, **{f"{each.source} {each.name}": self.pods for each in absent}}


@dataclass(frozen=True)
class WorkloadSide:
    """A Job or a pod: one set of pods. `group` None: not managed."""

    kind: str
    metadata: Metadata
    pod_set: PodSetSide
    group: str | None

    @cached_property
    def name(self) -> str:
        """The object as violations name it."""
        return name_of(self.kind, self.metadata)

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Quotree's annotations on it."""
        return own_annotations(self.metadata.annotations)

    @cached_property
    def injected(self) -> InjectedAnnotation:
        """The placement that is recorded as injected."""
        return injected_annotation(self.metadata.annotations)

    @cached_property
    def placement(self) -> Placement:
        """The placement as its owner wrote it."""
        return own_placement(self.pod_set.spec, self.injected)

    @cached_property
    def submitted(self) -> SubmittedWorkload:
        """The workload as its owner wrote it, without what was injected; of no group, if it is in none."""
        context = self.pod_set.context
        return SubmittedWorkload(
            object=self.name,
            group=self.group or "",
            namespace=self.metadata.namespace or "default",
            labels=self.metadata.labels,
            namespace_labels=context.namespace.namespace_labels,
            request=self.pod_set.request,
            placement=self.placement,
            pods=self.pod_set.pods,
            terms=(PodTerms.of(self.pod_set.spec, context.namespace),),
        )

    @cached_property
    def pending_injection(self) -> InjectedAnnotation:
        """The placement that it gets at once while held: of its only flavors, unless it contradicts the owner's.

        Flavors of devices come with the start: they depend on claims, of which two replicas can know different
        versions.
        """
        quota = self.pod_set.context.quota
        found = quota.tree.get(self.group or "")
        if found is None or found.is_parent:
            return NOTHING
        try:
            request = self.pod_set.pod_request
        except QuantityError:
            return NOTHING
        known = {resource: amount for resource, amount in request.items() if not quota.settings.is_of_devices(resource)}
        flavors, _ = find_flavors(only_flavors(found, known, self.metadata.labels), quota.flavors)
        return NOTHING if conflicts(self.placement, flavors) else injection(self.placement, flavors)
