"""What a review of an object of a governed kind checks of each pod set: template, fit, growth. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shared.api.names import ADMISSION, UNIT_LABEL
from shared.kinds.kind_object import KindObject, KindPodSet
from shared.kinds.operations import set_name
from shared.kinds.paths import show
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import WorkloadEdit, check_annotations_untouched, check_growth
from shared.quota.model.rules.workloads.children import check_unit
from shared.quota.model.rules.workloads.new_workload import check_could_fit
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import PodSetSide, injected_annotation, own_annotations


def check_templates(submitted: SubmittedWorkload, seen: KindObject, unit: str) -> Iterator[Violation]:
    """Pods with Quotree's annotations or another label would count as plain pods, or for another object."""
    for each in seen.pod_sets:
        place = show(each.template)
        for found in check_annotations_untouched(submitted, {}, own_annotations(each.annotations)):
            yield Violation(found.rule, found.object, f"{place}.{found.field}", found.message)
        yield from check_unit(submitted.object, unit, _unit_of(each), f"{place}.")


def _unit_of(pod_set: KindPodSet) -> str:
    return str((pod_set.labels.value or {}).get(UNIT_LABEL, ""))


def check_running(submitted: SubmittedWorkload, old: KindObject, seen: KindObject) -> Iterator[Violation]:
    """Every template of a running object must carry its label; otherwise its pods would not be counted."""
    is_started = not old.suspended and ADMISSION in old.metadata.annotations
    if is_started and not seen.suspended:
        yield from check_templates(submitted, seen, old.metadata.uid)


def check_sets_fit(
    submitted: SubmittedWorkload, seen: KindObject, sides: Sequence[PodSetSide], context: ReviewContext
) -> Findings:
    """Return whether each pod set could ever start."""
    found = NO_FINDINGS
    injected = injected_annotation(seen.metadata.annotations)
    for each, side in zip(seen.pod_sets, sides, strict=True):
        placement = own_placement(each.spec, injected.of(set_name(seen, each)))
        one = replace(submitted, request=side.request, placement=placement, pods=each.count)
        found += check_could_fit(one, context.quota)
    return Findings(tuple(dict.fromkeys(found.violations)), tuple(dict.fromkeys(found.warnings)))


def check_set_growth(
    changed: WorkloadEdit, old: Sequence[PodSetSide], new: Sequence[PodSetSide]
) -> Iterator[Violation]:
    """No pod set can grow: each was admitted in flavors of its own."""
    before = {each.name: each.peak for each in old}
    for each in new:
        was, now = replace(changed.was, peak=before.get(each.name, {})), replace(changed.now, peak=each.peak)
        yield from check_growth(replace(changed, was=was, now=now))
