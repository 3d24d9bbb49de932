"""The text of Quotree's own annotations about a decision; `shared.quota.model.read.jobs` reads them back."""

from datetime import datetime

import msgspec

from shared.api.annotations import (
    AdmissionAnnotation,
    ClaimAnnotation,
    EvictionAnnotation,
    NoticeAnnotation,
    RequeueAnnotation,
    TurnAnnotation,
    WaitingAnnotation,
    read_eviction,
    split,
    write_annotation,
)
from shared.api.names import POD_GROUP_REFUSED
from shared.quota.decide.decisions import Evict, Notice, Requeue, WaitExplanation
from shared.quota.model.workload import Admission, Claim, Turn, Workload, namespace_of
from shared.resources import write_quantity

_LONGEST_MESSAGE = 1024
Members = tuple[str, ...] | None
"""As `AdmissionAnnotation` has them."""


def write_admission(admission: Admission, members: Members) -> str:
    """Return the admission as it is written; of a pod group, for which pods."""
    own, pod_sets = split(admission.flavors)
    return write_annotation(
        AdmissionAnnotation(
            flavors=own,
            pod_sets=pod_sets,
            time=admission.since,
            adopted=admission.adopted,
            was_ready=admission.was_ready,
            unready_since=admission.unready_since,
            members=members,
        )
    )


def write_eviction(evict: Evict, at: datetime) -> str:
    """Return why the workload was evicted, what it used, and for whom: the preemptor's claim is stored here."""
    admission = evict.workload.admission
    own, pod_sets = split(admission.flavors if admission else {})
    return write_annotation(
        EvictionAnnotation(
            reason=evict.reason.value,
            time=at,
            flavors=own or None,
            pod_sets=pod_sets,
            since=admission.since if admission else None,
            rule=evict.rule.value,
            message=evict.message[:_LONGEST_MESSAGE],
            claim=_claim_annotation(evict.workload, evict.claim) if evict.claim else None,
            times=evict.workload.evictions + 1,
            request={name: write_quantity(name, amount) for name, amount in evict.workload.request.items()},
        )
    )


def _claim_annotation(victim: Workload, claim: Claim) -> ClaimAnnotation:
    own, pod_sets = split(claim.flavors)
    is_near = not claim.preemptor_uid or namespace_of(claim.preemptor) == namespace_of(victim.key)
    return ClaimAnnotation(
        workload=claim.preemptor if is_near else "",
        group=claim.preemptor_group,
        uid=claim.preemptor_uid,
        flavors=own or None,
        pod_sets=pod_sets,
    )


def end_claim(annotations: dict[str, str], reason: str) -> str | None:
    """Return the eviction annotation with its claim ended; None when there is none. Raises BadAnnotation."""
    eviction = read_eviction(annotations)
    return None if eviction is None else write_annotation(msgspec.structs.replace(eviction, claim_ended=reason))


def write_requeue(requeue: Requeue) -> str:
    """Return the queue place and the back-off after an eviction."""
    return write_annotation(
        RequeueAnnotation(
            requeue.queued,
            requeue.not_before,
            requeue.failed_starts,
            deactivated=requeue.deactivated,
            released=requeue.released,
        )
    )


def write_waiting(why: WaitExplanation, now: datetime) -> str:
    """Return why the workload waits, as of now."""
    message = why.message[:_LONGEST_MESSAGE]
    return write_annotation(
        WaitingAnnotation(why.reason.value, why.binding, why.flavor, why.resource, message, now.replace(microsecond=0))
    )


def write_pod_group_refusal(refusal: str, now: datetime) -> str:
    """Return why the pods of a started Job are not placed, as of now."""
    return write_annotation(
        WaitingAnnotation(POD_GROUP_REFUSED, message=refusal[:_LONGEST_MESSAGE], time=now.replace(microsecond=0))
    )


def write_turn(turn: Turn) -> str:
    """Return since when the workload has a turn, and in which flavors."""
    own, pod_sets = split(turn.flavors)
    return write_annotation(TurnAnnotation(flavors=own or None, pod_sets=pod_sets, time=turn.since))


def write_notice(notice: Notice, at: datetime) -> str:
    """That an eviction is coming, when, and for whom, if that workload is in the same namespace."""
    preemptor = notice.preemptor or ""
    is_near = namespace_of(preemptor) == namespace_of(notice.workload.key)
    return write_annotation(NoticeAnnotation(at, notice.evict_at, preemptor if is_near else "", notice.reason.value))
