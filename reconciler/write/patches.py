"""What one decision changes on a Job or pod: one JSON Patch that first tests what it was decided on. Pure.

Guards are uid, `metadata.generation` and the labels that were decided on, never resourceVersion: the Job controller
writes status within milliseconds of a creation, and generation moves with the spec alone.

See docs/specification.md §5.3 and §5.4.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from shared.api.annotations import (
    NOT_INJECTED,
    InjectedAnnotation,
    InjectedPlacement,
    read_annotations,
    write_annotation,
)
from shared.api.core.job import AT_ONCE, WHEN_ENDED, Job
from shared.api.core.metadata import Metadata
from shared.api.core.placement import read_placement, write_toleration
from shared.api.core.pod import Pod
from shared.api.injection import NOTHING, placement_operations
from shared.api.json.patches import Operation, add, remove, test
from shared.api.names import (
    ADMISSION,
    GATE,
    GROUP_LABEL,
    INJECTED,
    MAIN_POD_SET,
    NOTICE,
    POD_GROUP_LABEL,
    POD_SET_LABEL,
    PREEMPTIBLE_LABEL,
    REPLACEMENT,
    TURN,
    WAITING,
)
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.kinds.kind_object import KindObject
from shared.kinds.operations import set_name, suspend_operations, template_operations
from shared.quota.model.flavor import Flavor, injection
from shared.quota.model.flavor_placement import own_placement

FlavorsBySet = Mapping[str, Sequence[Flavor]]
"""Pod set -> the flavors that its pods got."""

ANNOTATIONS: Final = ("metadata", "annotations")
LABELS: Final = ("metadata", "labels")
NODE_SELECTOR: Final = ("spec", "nodeSelector")
TOLERATIONS: Final = ("spec", "tolerations")
TEMPLATE: Final = ("spec", "template", "spec")
POLICY: Final = ("spec", "podReplacementPolicy")
_NOT_RUNNING: Final[AnnotationPatch] = {ADMISSION: None, NOTICE: None, TURN: None, WAITING: None}
"""What an eviction takes off an object."""

TERMS: Final = (PREEMPTIBLE_LABEL,)
"""The labels beside the group that say on what terms a workload starts; a pod's is its pod group as well."""


class Guard(Enum):
    """What a patch tests beside uid and group."""

    SPEC = "generation"
    """The spec is the one that was decided on."""
    IDENTITY = "uid"
    """The spec may have changed: its owner changes it faster than a guarded patch arrives."""


def start_job(job: Job, group: str, annotations: AnnotationPatch, flavors: Iterable[Flavor]) -> list[Operation]:
    """Resume the Job on the flavors' nodes; the placement of an earlier start in other flavors is removed."""
    seen, spec = job.metadata, job.spec.template.spec
    old = read_annotations(seen.annotations).injected or NOTHING
    new = injection(own_placement(spec, old), flavors)
    return [
        *_guard_start(seen, group),
        _suspend(value=False),
        *replace_pods(job, WHEN_ENDED),
        *placement_operations(spec, old, new, TEMPLATE),
        *_set_annotations(seen, {**annotations, **_injected_text(new), **_given_policy(job), WAITING: None}),
        *_set_labels(seen, {GROUP_LABEL: group}),
    ]


def replace_pods(job: Job, policy: str) -> list[Operation]:
    """Give the Job this podReplacementPolicy, if Kubernetes' own Job controller makes its pods."""
    return [add(POLICY, policy)] if job.has_own_controller and job.replaces != policy else []


def _given_policy(job: Job) -> AnnotationPatch:
    """Return the annotation that keeps the policy which its owner gave the Job; none if that stays."""
    known = REPLACEMENT in job.metadata.annotations or job.replaces == WHEN_ENDED
    return {} if known or not job.has_own_controller else {REPLACEMENT: job.replaces}


def change_policy(job: Job, group: str, policy: str) -> list[Operation]:
    """Change when the pods of a started Job are replaced."""
    written = _set_annotations(job.metadata, _given_policy(job))
    return [*_guard(job.metadata, group), *replace_pods(job, policy), *written]


def evict_job(seen: Metadata, group: str, annotations: AnnotationPatch, guard: Guard) -> list[Operation]:
    """Suspend the Job; the Job controller then deletes its pods. It gets back the policy that its owner gave it."""
    given = seen.annotations.get(REPLACEMENT)
    written = _set_annotations(seen, {**annotations, **_NOT_RUNNING, REPLACEMENT: None})
    restored = [add(POLICY, given)] if given in (AT_ONCE, WHEN_ENDED) else []
    return [*_guard(seen, group, guard), _suspend(value=True), *restored, *written]


def suspend_job(seen: Metadata) -> list[Operation]:
    """Return the smallest patch that evicts a Job: it adds nothing to the object."""
    return [test(("metadata", "uid"), seen.uid), _suspend(value=True)]


def reset_start_time(seen: Metadata, group: str) -> list[Operation]:
    """Remove when the suspended Job last started, from its status."""
    return [*_guard(seen, group), add(("status", "startTime"), None)]


def start_kind(seen: KindObject, group: str, annotations: AnnotationPatch, flavors: FlavorsBySet) -> list[Operation]:
    """Let an object of a governed kind start, each of its pod sets on its own flavors' nodes.

    Its pods are labelled with its uid. What an earlier start put in for other flavors is taken out.
    """
    old = read_annotations(seen.metadata.annotations).injected or NOTHING
    new = _injected(seen, old, flavors)
    return [
        *_guard_start(seen.metadata, group),
        *suspend_operations(seen, value=False),
        *template_operations(seen, old, new, seen.metadata.uid),
        *_set_annotations(seen.metadata, {**annotations, **_injected_text(new), WAITING: None}),
        *_set_labels(seen.metadata, {GROUP_LABEL: group}),
    ]


def _injected(seen: KindObject, old: InjectedAnnotation, flavors: FlavorsBySet) -> InjectedAnnotation:
    found = {
        set_name(seen, each): injection(
            own_placement(each.spec, old.of(set_name(seen, each))),
            flavors.get(set_name(seen, each), ()),
        )
        for each in seen.pod_sets
    }
    if found.keys() <= {MAIN_POD_SET}:
        return found.get(MAIN_POD_SET, NOTHING)
    placed = {name: InjectedPlacement(each.node_selector, each.tolerations) for name, each in found.items()}
    pod_sets = {name: each for name, each in placed.items() if each != NOT_INJECTED}
    return InjectedAnnotation(pod_sets=pod_sets) if pod_sets else NOTHING


def _injected_text(injected: InjectedAnnotation) -> AnnotationPatch:
    return {INJECTED: None if injected == NOTHING else write_annotation(injected)}


def evict_kind(seen: KindObject, group: str, annotations: AnnotationPatch, guard: Guard) -> list[Operation]:
    """Suspend the object; its operator then deletes its pods. Its placement stays until the next start."""
    written = _set_annotations(seen.metadata, {**annotations, **_NOT_RUNNING})
    return [*_guard(seen.metadata, group, guard), *suspend_operations(seen, value=True), *written]


def suspend_kind(seen: KindObject) -> list[Operation]:
    """Return the smallest patch that evicts the object, as for Jobs."""
    return [test(("metadata", "uid"), seen.metadata.uid), *suspend_operations(seen, value=True)]


def annotate(seen: Metadata, annotations: AnnotationPatch) -> list[Operation]:
    """Write annotations alone, guarded by their values as seen."""
    unchanged = (
        [test((*ANNOTATIONS, name), seen.annotations.get(name)) for name in annotations] if seen.annotations else []
    )
    return [test(("metadata", "uid"), seen.uid), *unchanged, *_set_annotations(seen, annotations)]


def start_pod(
    pod: Pod, group: str, pod_set: str, annotations: AnnotationPatch, flavors: Iterable[Flavor]
) -> list[Operation]:
    """Remove the scheduling gate and restrict the pod to the flavors' nodes; write its pod set if there are several."""
    seen = pod.metadata
    operations = [
        *_guard_start(seen, group, (*TERMS, POD_GROUP_LABEL)),
        *_set_annotations(seen, {**annotations, WAITING: None}),
        *_set_labels(seen, {GROUP_LABEL: group} | ({} if pod_set == MAIN_POD_SET else {POD_SET_LABEL: pod_set})),
        *_remove_gate(pod),
    ]
    labels: dict[str, str] = {}
    tolerations: list[Any] = []
    present = [write_toleration(each) for each in read_placement(pod.spec).tolerations]
    for flavor in flavors:
        labels.update(flavor.node_labels)
        tolerations += [
            written
            for written in map(write_toleration, flavor.tolerations)
            if written not in present and written not in tolerations
        ]
    operations += _merge_selector(pod, labels)
    if tolerations:
        operations += (
            [add((*TOLERATIONS, "-"), each) for each in tolerations] if present else [add(TOLERATIONS, tolerations)]
        )
    return operations


def _merge_selector(pod: Pod, labels: Mapping[str, str]) -> list[Operation]:
    missing = {key: value for key, value in labels.items() if pod.spec.node_selector.get(key) != value}
    if not missing:
        return []
    if not pod.spec.node_selector:
        return [add(NODE_SELECTOR, missing)]
    return [add((*NODE_SELECTOR, key), value) for key, value in missing.items()]


def _remove_gate(pod: Pod) -> list[Operation]:
    for index, gate in enumerate(pod.spec.scheduling_gates):
        if gate.name == GATE:
            at = ("spec", "schedulingGates", index)
            return [test(at, {"name": GATE}), remove(at)]
    return []


def _guard(seen: Metadata, group: str, guard: Guard = Guard.SPEC) -> list[Operation]:
    """Test that uid, spec and group are those that were decided on. Pods of old API servers have no generation."""
    guards = [test(("metadata", "uid"), seen.uid)]
    if seen.generation and guard is Guard.SPEC:
        guards.append(test(("metadata", "generation"), seen.generation))
    if GROUP_LABEL in seen.labels:
        guards.append(test((*LABELS, GROUP_LABEL), group))
    return guards


def _guard_start(seen: Metadata, group: str, terms: Iterable[str] = TERMS) -> list[Operation]:
    """Test as well that these labels are as they were decided on, absent ones included.

    Where there are no labels at all, `_set_labels` tests that.
    """
    tests = [test((*LABELS, name), seen.labels.get(name)) for name in terms] if seen.labels else []
    return [*_guard(seen, group), *tests]


def _suspend(*, value: bool) -> Operation:
    return add(("spec", "suspend"), value)


def _set_annotations(seen: Metadata, annotations: AnnotationPatch) -> list[Operation]:
    """Write annotations. The first ones of an object are tested to be the first: adding the map replaces it."""
    written = {name: text for name, text in annotations.items() if text is not None}
    if not seen.annotations:
        return [test(ANNOTATIONS, None), add(ANNOTATIONS, written)] if written else []
    removed = [name for name, text in annotations.items() if text is None and name in seen.annotations]
    return [
        *(add((*ANNOTATIONS, name), text) for name, text in written.items()),
        *(remove((*ANNOTATIONS, name)) for name in removed),
    ]


def _set_labels(seen: Metadata, labels: Mapping[str, str]) -> list[Operation]:
    """Write labels that are absent: the group of an object that was created while the webhook was down, a pod set."""
    missing = {name: value for name, value in labels.items() if not seen.labels.get(name)}
    if not missing:
        return []
    if not seen.labels:
        return [test(LABELS, None), add(LABELS, missing)]
    return [add((*LABELS, name), value) for name, value in missing.items()]
