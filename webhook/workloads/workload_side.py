"""A workload on one side of a review, before or after the edit; what follows from it is computed once. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from shared.api.annotations import BadAnnotation, InjectedAnnotation, read_injected, write_annotation
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.injection import NOTHING
from shared.api.names import INJECTED, is_own
from shared.quota.model.counts.entries import counts_in
from shared.quota.model.counts.requests import counts_of
from shared.quota.model.read.jobs import pod_request_of, times
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.workloads.changed_workload import WorkloadProgress
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload
from shared.quota.model.tree import Amounts
from shared.resources import sum_amounts
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
    name: str = ""

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
class WorkloadSide(ABC):
    """A workload before or after an edit, of whatever sort. `group` None: not managed."""

    kind: str
    metadata: Metadata
    group: str | None
    context: ReviewContext

    @property
    @abstractmethod
    def is_held(self) -> bool:
        """Whether it is suspended or gated."""

    @property
    @abstractmethod
    def has_finished(self) -> bool:
        """Whether it uses nothing more."""

    @property
    @abstractmethod
    def pod_sets(self) -> tuple[PodSetSide, ...]:
        """The sets of equal pods that it is made of, in their order."""

    @property
    @abstractmethod
    def submitted(self) -> SubmittedWorkload:
        """The workload as its owner wrote it, without what was injected. Raises QuantityError."""

    @property
    @abstractmethod
    def progress(self) -> WorkloadProgress:
        """How far it has come. Raises QuantityError."""

    @property
    def is_readable(self) -> bool:
        """Whether its pod sets are known; otherwise `flaws` says why, and nothing else about it is judged."""
        return True

    @property
    def flaws(self) -> tuple[Violation, ...]:
        """What keeps it from being managed at all."""
        return ()

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
    def peak(self) -> Amounts:
        """The request of all pods, to compare with that of the other side. Raises QuantityError."""
        group = self.context.quota.tree.get(self.group or "")
        counts = {} if group is None else counts_of(sum(each.pods for each in self.pod_sets), counts_in(group))
        return {**sum_amounts(each.peak for each in self.pod_sets), **counts}

    def described(self) -> SubmittedWorkload:
        """Return what its metadata and its pods say of it, without a request; of no group, if it is in none.

        Raises QuantityError.
        """
        return SubmittedWorkload(
            object=self.name,
            group=self.group or "",
            namespace=self.metadata.namespace or "default",
            labels=self.metadata.labels,
            annotations=self.metadata.annotations,
            namespace_labels=self.context.namespace.namespace_labels,
            terms=tuple(PodTerms.of(each.spec, self.context.namespace) for each in self.pod_sets),
        )
