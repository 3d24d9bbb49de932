"""Explain one workload: its place, its entitlement, and per flavor what binds and who holds it.

Computed from a snapshot and the plan made on it; what would let the workload start is in `outlook.advise`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.api.names import MAIN_POD_SET
from shared.quota.decide.decisions import Plan, WaitReason
from shared.quota.decide.state.flavor_assignment import assignments_of
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import Quantities, quantities_of
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.idle_guarantees import IdleGuarantee, idle_guarantees
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.measure.static.pod_set_choices import totals
from shared.quota.model.eligibility import FlavorSet, Options, codependent_sets
from shared.quota.model.node import NodeShortage
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Workload, flavor_names
from shared.quota.outlook.explain.holders import Holder, Waiting, holders_of
from shared.quota.outlook.explain.missing_capacity import MissingCapacity
from shared.quota.outlook.explain.never import nodes_too_small
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.explain.queue_order import OrderExplanation, explain_order
from shared.quota.outlook.explain.running import RunningExplanation, explain_running
from shared.quota.outlook.explain.shortage import Shortage, below_node, beyond_min, beyond_runtime, worst
from shared.resources import Amount, quantities_in


class WorkloadState(StrEnum):
    """Where a workload stands."""

    PENDING = "Pending"
    RUNNING = "Running"
    EVICTING = "Evicting"


class BindingLimit(StrEnum):
    """Which kind of limit binds."""

    RUNTIME = "runtime"
    CEILING = "ceiling"
    CAPACITY = "capacity"
    EFFECTIVE_MIN = "effectiveMin"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Binding:
    """What is missing: an amount of a resource in a group, below that limit."""

    group: str
    resource: str
    limit: BindingLimit
    missing: Amount


@dataclass(frozen=True, slots=True)
class MissingRuntime:
    """What the runtime of a leaf lacks for a workload that is not entitled, and the numbers that it comes from."""

    group: str
    resource: str
    missing: Amount
    used: Amount
    """What the leaf uses, with what its claims reserve."""
    runtime: Amount
    min: Amount
    """The leaf's effectiveMin."""


@dataclass(frozen=True, slots=True)
class FlavorExplanation:
    """One flavor that the workload could take, or why it cannot."""

    flavor: str
    eligible: bool
    entitled: bool
    binding: Binding | None
    holders: tuple[Holder, ...]
    refused: str = ""
    entitlement: MissingRuntime | None = None
    """What its leaf's runtime lacks for it; None if it is entitled here, or not eligible."""
    kept: tuple[IdleGuarantee, ...] = ()
    """What idle groups keep of what binds."""
    pod_set: str = MAIN_POD_SET
    """The pod set that is explained. What other sets take is taken from the first assignment that has this flavor."""


@dataclass(frozen=True, slots=True)
class WorkloadExplanation:
    """Everything about one workload. `position`: from 1 among its leaf's waiting workloads; 0 outside the queue."""

    workload: Workload
    state: WorkloadState
    position: int
    entitled: bool
    reason: WaitReason | None
    message: str
    flavors: tuple[FlavorExplanation, ...]
    running: RunningExplanation | None = None
    """What can stop the workload, if it is admitted."""
    behind: Workload | None = None
    """The workload for which it waits, as in WaitExplanation."""
    order: OrderExplanation | None = None
    """Why it has its place, where the order of its leaf is by namespace or user."""


def explain(snapshot: Snapshot, plan: Plan, workload: Workload) -> WorkloadExplanation:
    """Explain this workload as it is in the snapshot."""
    usage = _with_claims(snapshot, plan, workload)
    if not workload.is_pending:
        return _explain_running(usage, workload)
    leaf = snapshot.leaves.get(workload.group)
    flavors = tuple(_flavors(usage, leaf, workload)) if leaf is not None else ()
    why = PendingReasons(plan).why(workload)
    return WorkloadExplanation(
        workload=workload,
        state=WorkloadState.PENDING,
        position=_position(leaf, workload, plan),
        entitled=_is_entitled(usage, leaf, workload) if leaf is not None else False,
        reason=why.reason if why is not None else None,
        message=why.message if why is not None else f"{workload.kind} {workload.key!r} starts now",
        flavors=flavors,
        behind=why.behind if why is not None else None,
        order=explain_order(leaf, workload),
    )


def _with_claims(snapshot: Snapshot, plan: Plan, workload: Workload) -> RoundUsage:
    """Return the use at the beginning of the cycle, with the room that standing claims of other workloads hold."""
    usage, ended = RoundUsage(snapshot, snapshot.leaves), {each.victim.id for each in plan.claims_ended}
    for claim in snapshot.claims.values():
        preemptor = claim.preemptor
        stands = not any(victim.id in ended for victim in claim.victims)
        if preemptor is not None and stands and preemptor.id != workload.id:
            usage.claim(usage.leaf(preemptor.group), quantities_of(preemptor, claim.flavors), preemptor)
    return usage


def _is_entitled(usage: RoundUsage, leaf: LeafSnapshot, workload: Workload) -> bool:
    """Return whether all that it requests together is within its leaf's runtime, in some flavors."""
    own = usage.leaf(leaf.group.name)
    assignments = assignments_of(workload, leaf.options(workload), usage.snapshot.world.flavors) or ()
    return any(
        own.may_hold(each.quantities, workload) and own.is_entitled(each.quantities, workload) for each in assignments
    )


def _explain_running(usage: RoundUsage, workload: Workload) -> WorkloadExplanation:
    admission = workload.admission
    assert admission is not None  # noqa: S101
    state = WorkloadState.EVICTING if workload.is_evicting else WorkloadState.RUNNING
    flavors = tuple(FlavorExplanation(name, True, False, None, ()) for name in sorted(flavor_names(admission.flavors)))
    since = admission.since.isoformat(timespec="seconds")
    text = f"{workload.kind} {workload.key!r} runs since {since} on {', '.join(each.flavor for each in flavors)}"
    if workload.eviction is not None:
        text += f" and is being evicted: {workload.eviction.reason.value}"
    running = explain_running(usage, workload, admission)
    entitled = running.within_runtime and not workload.is_evicting
    return WorkloadExplanation(workload, state, 0, entitled, None, text, flavors, running)


def _position(leaf: LeafSnapshot | None, workload: Workload, plan: Plan) -> int:
    started = {start.workload.id for start in plan.starts}
    waiting = [each.id for each in leaf.pending if each.id not in started] if leaf is not None else []
    return waiting.index(workload.id) + 1 if workload.id in waiting else 0


def _flavors(usage: RoundUsage, leaf: LeafSnapshot, workload: Workload) -> Iterator[FlavorExplanation]:
    """Yield every flavor of every codependent set that each pod set needs, in the group's order."""
    leaf_usage = usage.leaf(leaf.group.name)
    options = leaf.options(workload)
    for place, choice in enumerate(options.sets):
        covering = [each for each in codependent_sets(leaf.group.quotas) if each.resources.issuperset(choice.resources)]
        for flavor in covering[0].flavors if covering else choice.flavors:
            quantities = _with_other_sets(options, place, flavor)
            if flavor in choice.flavors:
                found = _eligible(usage, leaf_usage, workload, flavor, quantities)
            else:
                node = nodes_too_small(usage.snapshot, leaf, workload, choice).get(flavor)
                found = _below_nodes(flavor, node) if node else _refused(usage, workload, flavor, quantities, choice)
            yield replace(found, pod_set=choice.pod_set.name)


def _with_other_sets(options: Options, place: int, flavor: str) -> Quantities:
    """Return what the set at that place would take of the flavor, with what other sets take of the same keys."""
    choice = options.sets[place]
    own = quantities_in(choice.pod_set.request, choice.resources, flavor)
    chosen = next((each for each in options.together or () if each[place] == flavor), None)
    if chosen is None:
        return own
    together = dict(totals(options.sets, chosen))
    return tuple((key, together[key]) for key, _ in own)


def _eligible(
    usage: RoundUsage, leaf_usage: LeafUsage, workload: Workload, flavor: str, quantities: Quantities
) -> FlavorExplanation:
    entitled = leaf_usage.may_hold(quantities, workload) and leaf_usage.is_entitled(quantities, workload)
    beyond = None if entitled else beyond_runtime(leaf_usage, quantities)
    entitlement = None if beyond is None else _missing_runtime(leaf_usage, beyond)
    found = _binding(usage, leaf_usage, workload, quantities)
    if found is None:
        return FlavorExplanation(flavor, True, entitled, None, (), entitlement=entitlement)
    short, limit = found
    holders = holders_of(usage, short.group, short.key, Waiting(workload, entitled))
    kept = tuple(idle_guarantees(usage.snapshot, short.group, short.key))
    return FlavorExplanation(flavor, True, entitled, _as_binding(short, limit), tuple(holders), "", entitlement, kept)


def _missing_runtime(leaf_usage: LeafUsage, beyond: Shortage) -> MissingRuntime:
    numbers, key = leaf_usage.numbers(beyond.key), beyond.key
    used = leaf_usage.used.get(key, 0) + leaf_usage.claimed.get(key, 0)
    return MissingRuntime(leaf_usage.name, key.resource, beyond.missing, used, numbers.runtime, numbers.effective_min)


def _binding(
    usage: RoundUsage, leaf_usage: LeafUsage, workload: Workload, quantities: Quantities
) -> tuple[Shortage, BindingLimit] | None:
    if not leaf_usage.may_hold(quantities, workload):
        short = beyond_min(leaf_usage, quantities)
        return None if short is None else (short, BindingLimit.EFFECTIVE_MIN)
    for view in (usage.current, usage.after_evictions):
        short = MissingCapacity(usage.snapshot).on_path(view, leaf_usage.path, quantities)
        if short is not None:
            return short, _limit_in(usage, short)
    short = beyond_runtime(leaf_usage, quantities)
    return None if short is None else (short, BindingLimit.RUNTIME)


def _limit_in(usage: RoundUsage, short: Shortage) -> BindingLimit:
    numbers = usage.snapshot.numbers.get(short.group, {}).get(short.key, NO_NUMBERS)
    is_full = short.group == ROOT and numbers.runtime <= numbers.ceiling
    return BindingLimit.CAPACITY if is_full else BindingLimit.CEILING


def _below_nodes(flavor: str, node: NodeShortage) -> FlavorExplanation:
    """Return a flavor of which no node could run its pods."""
    binding = _as_binding(below_node(flavor, node), BindingLimit.NODE)
    return FlavorExplanation(flavor, False, False, binding, (), str(node))


def _refused(
    usage: RoundUsage, workload: Workload, flavor: str, quantities: Quantities, choice: FlavorSet
) -> FlavorExplanation:
    """Return a flavor that it cannot take: too large for a limit, or unlike its nodes."""
    why, shortages = choice.refused.get(flavor, ""), []
    for key, amount in quantities:
        most, group = usage.snapshot.largest_fit(workload.group, key)
        kept = usage.snapshot.numbers[workload.group].get(key, NO_NUMBERS).effective_min
        if not workload.preemptible and kept <= most:
            shortages.append((Shortage(amount - kept, workload.group, key, amount, kept, kept), True))
        else:
            shortages.append((Shortage(amount - max(0, most), group, key, amount, most, most), False))
    short = worst(each for each, _ in shortages)
    binding = None
    if short is not None:
        by_min = next(is_min for each, is_min in shortages if each is short)
        if by_min:
            binding = _as_binding(short, BindingLimit.EFFECTIVE_MIN)
        else:
            short = MissingCapacity(usage.snapshot).to_fit_alone(workload.group, short)
            binding = _as_binding(short, _limit_in(usage, short))
    return FlavorExplanation(flavor, False, False, binding, (), why)


def _as_binding(short: Shortage, limit: BindingLimit) -> Binding:
    return Binding(short.group, short.key.resource, limit, short.missing)
