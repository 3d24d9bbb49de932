"""What a review of an object of a governed kind checks of each pod set: template, fit, growth, size. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from shared.api.core.pod import PodSpec
from shared.api.names import ADMISSION, UNIT_LABEL
from shared.api.review import Review
from shared.kinds.kind_object import KindObject, KindPodSet
from shared.kinds.operations import set_name
from shared.kinds.paths import show
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import WorkloadEdit, check_annotations_untouched, check_growth
from shared.quota.model.rules.workloads.children import check_unit
from shared.quota.model.rules.workloads.new_workload import check_could_fit
from shared.quota.model.rules.workloads.object_size import check_size, object_size
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from webhook.workloads.governed.kind_review import KindReview
from webhook.workloads.workload_side import injected_annotation, own_annotations


def check_templates(name: str, submitted: SubmittedWorkload, seen: KindObject, unit: str) -> Iterator[Violation]:
    """Pods with Quotree's annotations or another label would count as plain pods, or for another object."""
    for each in seen.pod_sets:
        place = show(each.template)
        for found in check_annotations_untouched(submitted, {}, own_annotations(each.annotations)):
            yield Violation(found.rule, found.object, f"{place}.{found.field}", found.message)
        yield from check_unit(name, unit, _unit_of(each), f"{place}.")


def _unit_of(pod_set: KindPodSet) -> str:
    return str((pod_set.labels.value or {}).get(UNIT_LABEL, ""))


def check_running(edit: KindReview, old: KindObject, after: SubmittedWorkload) -> Iterator[Violation]:
    """Every template of a running object must carry its label; otherwise its pods would not be counted."""
    is_started = not old.suspended and ADMISSION in old.metadata.annotations
    if is_started and not edit.seen.suspended:
        yield from check_templates(edit.name, after, edit.seen, old.metadata.uid)


def check_sets_fit(submitted: SubmittedWorkload, edit: KindReview) -> Findings:
    """Return whether each pod set could ever start."""
    found, seen = NO_FINDINGS, edit.seen
    injected = injected_annotation(seen.metadata.annotations)
    for each, side in zip(seen.pod_sets, edit.sets_after, strict=True):
        request = side.request
        placement = own_placement(each.spec, injected.of(set_name(seen, each)))
        one = replace(submitted, request=request, placement=placement, pods=each.count)
        found += check_could_fit(one, edit.context.quota)
    return Findings(tuple(dict.fromkeys(found.violations)), tuple(dict.fromkeys(found.warnings)))


def check_set_growth(changed: WorkloadEdit, old: KindObject, edit: KindReview) -> Iterator[Violation]:
    """No pod set can grow: each was admitted in flavors of its own."""
    before = {each.name: side.peak for each, side in zip(old.pod_sets, edit.sets_before, strict=True)}
    for each, side in zip(edit.seen.pod_sets, edit.sets_after, strict=True):
        was, now = replace(changed.was, peak=before.get(each.name, {})), replace(changed.now, peak=side.peak)
        yield from check_growth(replace(changed, was=was, now=now))


def check_set_sizes(review: Review, edit: KindReview) -> Findings:
    """Check the sizes of the object and of each pod set's pods."""
    if edit.group is None:
        return NO_FINDINGS
    old = edit.old
    old_specs = {} if old is None else {each.name: each.spec for each in old.pod_sets}
    found: dict[Violation, None] = {}
    for name, spec in [("", PodSpec()), *((each.name, each.spec) for each in edit.seen.pod_sets)]:
        after = object_size(len(bytes(review.object)), edit.seen.metadata, spec)
        before = (
            None
            if old is None
            else object_size(len(bytes(review.old_object)), old.metadata, old_specs.get(name, PodSpec()))
        )
        found.update(dict.fromkeys(check_size(edit.name, before, after)))
    return Findings(tuple(found))
