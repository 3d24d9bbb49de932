"""What would become of workloads if they were submitted now: who starts, behind what others wait, what would start.

The next plan of a world with them in it decides that; nothing here decides. See docs/specification.md §14.6.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from shared.json_data import Json
from shared.quota.decide.decisions import WaitReason
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.advise.remedies import advise, owners_remedies
from shared.quota.outlook.advise.remedy import NO_ADVICE, Advice, Remedy
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.simulate.effects import effects_as_list, summed_by_group


class PreviewedStart(StrEnum):
    """When a workload would start if nothing else came or ended."""

    NOW = "Now"
    SOON = "Soon"
    """In the next cycles, such as when what is evicted for it has ended."""
    WITH_LEADER = "WithLeader"
    """As soon as a reconciler leads, or when what is then evicted for it has ended."""
    LATER = "Later"
    """When a time has passed."""
    NEVER = "Never"
    """Only if something changes."""


def submitted(before: World, after: World) -> Sequence[WorkloadId]:
    """Return the workloads that wait in `after` and are not there in `before`."""
    groups = sorted(after.changed_since(before))
    known = {each for group in groups for each in before.workloads_of(group).by_id}
    found = (each for group in groups for each in after.workloads_of(group).by_id.values())
    return [each.id for each in found if each.id not in known and each.is_pending]


def previews_in_steps(outlook: Outlook, ids: Iterable[WorkloadId]) -> Iterator[list[Json]]:
    """Yield what would become of these workloads: first without what else would start, which is soon there."""
    workloads = [each for each in map(outlook.find, ids) if each is not None]
    yield [_preview(outlook, each, None) for each in workloads]
    yield [_preview(outlook, each, _advice(outlook, each)) for each in workloads]


def previews(outlook: Outlook, ids: Iterable[WorkloadId]) -> list[Json]:
    """Return the whole preview of each workload."""
    *_, whole = previews_in_steps(outlook, ids)
    return whole


def _advice(outlook: Outlook, workload: Workload) -> Advice:
    """Return what its owner can do: to open a group, or to raise its budget, is not the owner's."""
    found = advise(outlook.given, outlook.explanation(workload), owners_remedies)
    return replace(
        found, remedies=tuple(each for each in found.remedies if not any(map(_changes_group, (each, *each.also))))
    )


def _changes_group(remedy: Remedy) -> bool:
    return bool(remedy.group)


def _preview(outlook: Outlook, workload: Workload, advice: Advice | None) -> Json:
    """Return the preview of one workload; `advice` None: not tried yet."""
    decided = outlook.decided
    starts_now = any(start.workload.id == workload.id for start in decided.starts)
    explanation = outlook.explanation(workload)
    begins = PreviewedStart.NOW if starts_now else None
    if explanation.reason is WaitReason.NO_LEADER:
        begins = PreviewedStart.WITH_LEADER
    elif begins is None and advice is not None:
        begins = _begins(advice.starts_at, outlook.given.now)
    evicted = [
        (each.workload, each.reason.value, False)
        for each in decided.evictions
        if each.claim is not None and each.claim.preemptor_id == workload.preemptor_id
    ]
    found = outlook.as_data(explanation, advice or NO_ADVICE)
    return {
        **found,
        "message": f"{workload.kind} {workload.key!r} would start now"
        if begins is PreviewedStart.NOW
        else found["message"],
        "starts": None if begins is None else begins.value,
        "evicts": effects_as_list([*summed_by_group(evicted)]),
        "remediesTried": starts_now or advice is not None,
    }


def _begins(starts_at: datetime | None, now: datetime) -> PreviewedStart:
    if starts_at is None:
        return PreviewedStart.NEVER
    return PreviewedStart.SOON if starts_at == now else PreviewedStart.LATER
