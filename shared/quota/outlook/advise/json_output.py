"""What `quotree explain` prints, as plain data: docs/specification.md §14.1, amounts in base units."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from shared.api.names import MAIN_POD_SET
from shared.json_data import Json
from shared.quota.decide.decisions import WaitReason
from shared.quota.model.budgets.budget import Budget
from shared.quota.model.budgets.in_force import hours_text
from shared.quota.model.workload import Eviction, Workload
from shared.quota.outlook.advise.preemptor_names import PreemptorNames
from shared.quota.outlook.advise.remedy import Advice, Remedy
from shared.quota.outlook.explain.explanation import (
    Binding,
    BindingLimit,
    FlavorExplanation,
    MissingRuntime,
    WorkloadExplanation,
)
from shared.quota.outlook.explain.holders import Holder
from shared.quota.outlook.explain.queue_order import OrderExplanation
from shared.quota.outlook.explain.running import RunningExplanation
from shared.quota.outlook.simulate.json_output import flavors_as_data

_STOPPED_BY_A_PERSON: Final = (WaitReason.HELD, WaitReason.DEACTIVATED)


def explanation_as_data(explanation: WorkloadExplanation, advice: Advice, names: PreemptorNames) -> Json:
    """Return the whole explanation of one workload."""
    workload = explanation.workload
    data: Json = {
        "workload": workload.key,
        "kind": workload.kind,
        "state": explanation.state.value,
        "group": workload.group,
        "position": explanation.position,
        "entitled": explanation.entitled,
        "reason": explanation.reason.value if explanation.reason is not None else None,
        "message": explanation.message,
        "flavors": [flavor_as_data(each, names) for each in _flavors_that_matter(explanation)],
        "remedies": [remedy_as_data(each) for each in advice.remedies],
        "startsAt": advice.starts_at.isoformat() if advice.starts_at is not None else None,
    }
    if workload.priority or workload.priority_source:
        data["priority"] = {"value": workload.priority, "from": workload.priority_source}
    if explanation.behind is not None:
        data["behind"] = {"workload": explanation.behind.key, "group": explanation.behind.group}
    if explanation.order is not None:
        data["order"] = order_as_data(explanation.order)
    if workload.evictions:
        data["evictions"] = workload.evictions
    if workload.eviction is not None:
        data["lastEviction"] = eviction_as_data(workload, workload.eviction, names)
    if explanation.running is not None:
        data["admission"] = running_as_data(explanation.running)
    return data


def order_as_data(order: OrderExplanation) -> Json:
    """Return what gives a workload its place: `amount` in base units times milliseconds, `weight` in thousandths."""
    shares = [{"name": each.name, "amount": each.amount, "weight": each.weight} for each in order.shares]
    return {"by": order.order.value, "resource": order.resource, "requesters": shares}


def _flavors_that_matter(explanation: WorkloadExplanation) -> Iterator[FlavorExplanation]:
    """Yield the flavors; of a workload that nothing but a person keeps from starting, without what is missing there."""
    for each in explanation.flavors:
        is_stopped = explanation.reason in _STOPPED_BY_A_PERSON and each.eligible
        yield replace(each, binding=None, holders=(), entitlement=None, kept=()) if is_stopped else each


def eviction_as_data(workload: Workload, eviction: Eviction, names: PreemptorNames) -> Json:
    """Return why a workload was evicted, by which rule and for which workload, and when it can start again."""
    preemptor = names.of(eviction.preemptor, eviction.preemptor_uid)
    return {
        "reason": eviction.reason.value,
        "at": eviction.at.isoformat(),
        "rule": eviction.rule or None,
        "for": preemptor or None,
        "forGroup": eviction.preemptor_group or None,
        "failedStarts": workload.failed_starts,
        "notBefore": workload.not_before.isoformat() if workload.not_before is not None else None,
        "deactivated": workload.deactivated,
    }


def running_as_data(running: RunningExplanation) -> Json:
    """Return what the place of a running workload rests on; `ground`: Runtime, or Borrowed."""
    return {
        "since": running.admission.since.isoformat(),
        **flavors_as_data(running.admission.flavors),
        "ready": running.admission.ready,
        **({"notPlaced": running.admission.pod_group_refusal} if running.admission.pod_group_refusal else {}),
        "ground": "Runtime" if running.within_runtime else "Borrowed",
        "keys": [
            {
                "flavor": each.key.flavor,
                "resource": each.key.resource,
                "amount": each.amount,
                "borrowed": each.borrowed,
                "groupUsed": each.group_used,
                "groupRuntime": each.group_runtime,
            }
            for each in running.keys
        ],
        "losses": [
            {
                "rule": each.rule.value,
                "possible": each.possible,
                "because": each.because or None,
                "after": each.after.isoformat() if each.after is not None else None,
            }
            for each in running.losses
        ],
    }


def flavor_as_data(flavor: FlavorExplanation, names: PreemptorNames) -> Json:
    """Return one flavor; `refused` says why it is not eligible."""
    data: Json = {
        "flavor": flavor.flavor,
        "eligible": flavor.eligible,
        "entitled": flavor.entitled,
        "binding": None if flavor.binding is None else binding_as_data(flavor.binding),
        "holders": [holder_as_data(each, names) for each in flavor.holders],
    }
    if flavor.kept:
        data["keptIdle"] = [{"group": each.group, "amount": each.amount} for each in flavor.kept]
    if flavor.pod_set != MAIN_POD_SET:
        data["podSet"] = flavor.pod_set
    if flavor.entitlement is not None:
        data["entitlement"] = missing_runtime_as_data(flavor.entitlement)
    return data | ({"refused": flavor.refused} if flavor.refused else {})


def binding_as_data(binding: Binding) -> Json:
    """Return what binds."""
    return {
        "group": binding.group,
        "resource": binding.resource,
        "limit": binding.limit.value,
        "missing": binding.missing,
    }


def missing_runtime_as_data(short: MissingRuntime) -> Json:
    """Return why a workload is not entitled, in numbers."""
    return {
        "group": short.group,
        "resource": short.resource,
        "limit": BindingLimit.RUNTIME.value,
        "missing": short.missing,
        "used": short.used,
        "runtime": short.runtime,
        "min": short.min,
    }


def holder_as_data(holder: Holder, names: PreemptorNames) -> Json:
    """Return one holder; `because` is null for one that can be recycled."""
    data: Json = {
        "workload": holder.workload.key,
        "group": holder.workload.group,
        "amount": holder.amount,
        "borrowed": holder.borrowed,
        "recyclable": holder.recyclable,
        "because": holder.because or None,
    }
    if holder.until is not None:
        data["until"] = holder.until.isoformat()
    # The claim on a workload that runs again is what its last eviction left.
    claim = holder.workload.claim if holder.workload.is_evicting else None
    preemptor = names.of(claim.preemptor, claim.preemptor_uid) if claim is not None else ""
    if preemptor:
        data["claimedBy"] = preemptor
    return data


def remedy_as_data(remedy: Remedy) -> Json:
    """Return one remedy, with the members that matter to it."""
    members = {
        "group": remedy.group,
        "flavor": remedy.flavor,
        "resource": remedy.resource,
        "by": remedy.by,
        "percent": remedy.percent,
        "example": not remedy.is_sure,
        "workload": remedy.workload,
        "podSet": remedy.pod_set,
        "like": remedy.like,
        "and": [remedy_as_data(each) for each in remedy.also],
    }
    priority = {} if remedy.priority is None else {"priority": remedy.priority}
    budget = {} if remedy.budget is None else _budget_as_data(remedy.budget)
    return {"do": remedy.do.value, **priority, **budget, **{name: value for name, value in members.items() if value}}


def _budget_as_data(budget: Budget) -> Json:
    """Return the budget as it is written in an object."""
    key = budget.key
    members = {
        "resource": key.resource,
        "flavor": key.flavor,
        "hours": hours_text(budget),
        "period": key.period.value,
        "timeZone": key.zone,
        "whenSpent": budget.when_spent.value,
    }
    return {name: value for name, value in members.items() if value}
