"""What a QuotaGroup's status says at one snapshot. Pure; the numbers are those of `quotree tree` and `simulate`.

See docs/specification.md §2.9 and §9.1.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from reconciler.report.status.flavors import nodes_of_group
from shared.api.conditions import Condition
from shared.api.json.reading import ResourceList
from shared.api.quotagroup import (
    MAX_LARGEST_NODES,
    PercentStatus,
    QuotaGroupStatus,
    QuotaStatus,
    WorkloadCounts,
    write_columns,
    write_quotas,
)
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.percents import write_percent
from shared.quota.measure.counts import Counts
from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.report import Words, report_of
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.amounts.resolution import is_unknown
from shared.quota.model.budgets.budget import WhenSpent
from shared.quota.model.budgets.in_force import budget_text, is_stopped_by_budget, stop_reason
from shared.quota.model.in_force import amendments_at
from shared.quota.model.membership import stop_of
from shared.quota.model.tree import LIMITS, ROOT, WRITTEN, Entry, Group, StopPolicy
from shared.resources import FlavorResource, write_quantity
from shared.text.amendments import amended_text, next_text
from shared.text.conditions import AMENDED

_DRAINING: Final = "Draining"


def status_of(  # noqa: PLR0913
    record: GroupStatusRecord,
    snapshot: Snapshot,
    over_since: OverSince,
    counts: Counts,
    now: datetime,
    *,
    empty: Mapping[str, str] | None = None,
    waiting: Mapping[str, int] | None = None,
) -> QuotaGroupStatus:
    """Return the status of one group; an unchanged condition keeps its transition time.

    `empty`: the flavors without nodes, and why. `waiting`: reason → how many workloads wait for it.
    """
    name = record.group.name
    quotas = _quotas(snapshot, name, over_since)
    workloads = msgspec.structs.replace(counts.below(snapshot, name), waiting=dict(waiting or {}))
    return QuotaGroupStatus(
        conditions=_conditions(record, snapshot, over_since, workloads, now, empty=empty or {}),
        quotas=quotas,
        workloads=workloads,
        columns=write_columns(quotas),
        observed_generation=record.generation,
    )


def _quotas(snapshot: Snapshot, group: str, over_since: OverSince) -> list[QuotaStatus]:
    preference = [entry.flavor for entry in snapshot.world.tree[group].quotas]
    report = report_of(snapshot.numbers.get(group, {}), preference)
    return [_quota(snapshot, group, flavor, resources, over_since) for flavor, resources in report.items()]


def _quota(
    snapshot: Snapshot, group: str, flavor: str, resources: Mapping[str, Words], over_since: OverSince
) -> QuotaStatus:
    def each(word: str) -> dict[str, int | float | str]:
        return write_quotas({resource: words[word] for resource, words in resources.items()})

    capacity = {key.resource: amount for key, amount in snapshot.capacity.items() if key.flavor == flavor}
    return QuotaStatus(
        flavor=flavor,
        min=each("effectiveMin"),
        request=each("request"),
        used=each("used"),
        non_preemptible=each("nonPreemptible"),
        charge=each("charge"),
        runtime=each("runtime"),
        borrowed=each("borrowed"),
        lendable=each("lendable"),
        capacity=write_quotas(capacity) if group == ROOT else {},
        largest_nodes=_largest_nodes(snapshot, flavor) if group == ROOT else None,
        over_since={
            key.resource: since.replace(microsecond=0)
            for (name, key), since in sorted(over_since.items())
            if name == group and key.flavor == flavor
        },
        percents=_percents(snapshot, group, flavor),
    )


def _percents(snapshot: Snapshot, group: str, flavor: str) -> list[PercentStatus]:
    entry = snapshot.tree[group].entry(flavor)
    if entry is None or not entry.percents:
        return []
    found = []
    for limit in LIMITS:
        for resource, percent in sorted(entry.percents.get(limit, {}).items()):
            amount = _amount_of(snapshot, group, entry, limit, resource)
            found.append(PercentStatus(WRITTEN[limit], resource, write_percent(percent), amount))
    return found


def _amount_of(snapshot: Snapshot, group: str, entry: Entry, limit: str, resource: str) -> str:
    """Return what the percent comes to; of root, whose max bounds its capacity, that."""
    if group == ROOT:
        return write_quantity(resource, snapshot.capacity.get(FlavorResource(entry.flavor, resource), 0))
    return "" if is_unknown(entry, limit, resource) else write_quantity(resource, getattr(entry, limit)[resource])


def _largest_nodes(snapshot: Snapshot, flavor: str) -> list[ResourceList] | None:
    found = snapshot.largest_nodes.get(flavor)
    return None if found is None or len(found) > MAX_LARGEST_NODES else [write_quotas(each) for each in found]


def _conditions(  # noqa: PLR0913
    record: GroupStatusRecord,
    snapshot: Snapshot,
    over_since: OverSince,
    workloads: WorkloadCounts,
    now: datetime,
    *,
    empty: Mapping[str, str],
) -> list[Condition]:
    before = {condition.type: condition for condition in record.status.conditions}
    active, drained = _active(snapshot, record.group.name), _drained(snapshot, record.group.name, workloads)
    wanted = [
        active,
        drained,
        nodes_of_group(record.group.name, snapshot, empty),
        _over_runtime(snapshot, record.group.name, over_since),
        _ready(record.group, active, drained),
        _stopped(snapshot, record.group.name),
        *_amended(snapshot, record.group.name),
        *_within_budget(snapshot.world.tree[record.group.name]),
    ]
    return list(_dated(before, wanted, record.generation, now))


def _dated(
    before: Mapping[str, Condition], wanted: Sequence[Condition], generation: int, now: datetime
) -> Iterator[Condition]:
    for condition in wanted:
        old = before.get(condition.type)
        since = condition.last_transition_time
        if since is None:
            is_same = old is not None and old.status == condition.status
            since = old.last_transition_time if old is not None and is_same else None
        since = (since or now).replace(microsecond=0)
        yield msgspec.structs.replace(condition, last_transition_time=since, observed_generation=generation)


def _active(snapshot: Snapshot, group: str) -> Condition:
    inactive = snapshot.inactive.get(group)
    if inactive is None:
        return Condition("Active", "True", "Active", "workloads are started within its quota")
    return Condition("Active", "False", inactive.reason, inactive.message)


def _ready(group: Group, active: Condition, drained: Condition) -> Condition:
    """Whether the cluster is as the spec says, in the words of kstatus: tools that apply objects wait for it."""
    if group.deleting:
        return Condition("Ready", "False", "Deleting", "deleted as soon as it holds neither groups nor workloads")
    if active.status == "False":
        return Condition("Ready", "False", active.reason, active.message)
    if drained.reason == _DRAINING:
        return Condition("Ready", "False", _DRAINING, drained.message)
    return Condition("Ready", "True", "Measured", "the group counts as its spec says")


def _over_runtime(snapshot: Snapshot, group: str, over_since: OverSince) -> Condition:
    """The condition's time is that of the first key over runtime; `overSince` has the time of each key."""
    over = {key: since for (leaf, key), since in over_since.items() if leaf == group}
    if not over:
        return Condition("OverRuntime", "False", "WithinRuntime", "")
    numbers = snapshot.numbers.get(group, {})
    keys = sorted(key for key in over if key in numbers)
    text = ", ".join(_used_and_runtime(key, numbers[key]) for key in keys)
    return Condition("OverRuntime", "True", "Borrowing", text, last_transition_time=min(over.values()))


def _used_and_runtime(key: FlavorResource, numbers: Numbers) -> str:
    used, runtime = write_quantity(key.resource, numbers.used), write_quantity(key.resource, numbers.runtime)
    return f"{key} used {used}, runtime {runtime}"


def _stopped(snapshot: Snapshot, group: str) -> Condition:
    stop = stop_of(snapshot.world.tree, group)
    if stop.policy is StopPolicy.NONE:
        return Condition("Stopped", "False", "Open", "")
    group_of_policy = snapshot.world.tree[stop.group]
    by = f"by the stop policy of group {stop.group}"
    if is_stopped_by_budget(group_of_policy):
        by = stop_reason(group_of_policy, stop.policy)
    return Condition("Stopped", "True", stop.policy.value, by)


def _within_budget(group: Group) -> Iterator[Condition]:
    """Whether none of the group's own budgets is spent; absent where it has none."""
    if not group.budgets:
        return
    if not group.spent:
        yield Condition("WithinBudget", "True", "WithinBudget", "")
        return
    strictest = max((each.budget.when_spent for each in group.spent), key=list(WhenSpent).index)
    text = "; ".join(budget_text(each.budget) for each in group.spent if each.at is not None)
    if not text:
        yield Condition("WithinBudget", "Unknown", "NotReadYet", "what was used is read first; it takes a moment")
        return
    yield Condition("WithinBudget", "False", strictest.value, f"spent: {text}")


def _amended(snapshot: Snapshot, group: str) -> Iterator[Condition]:
    """Yield which override or window is in force and until when, or is next; nothing of a group without any."""
    found = snapshot.world.tree[group]
    if not (found.overrides or found.windows):
        return
    amended = amended_text(amendments_at(found, snapshot.now))
    if amended:
        yield Condition(AMENDED, "True", "InForce", amended)
    else:
        coming = next_text(found, snapshot.now)
        yield Condition(AMENDED, "False", "AsWritten", f"next: {coming}" if coming else "")


def _drained(snapshot: Snapshot, group: str, workloads: WorkloadCounts) -> Condition:
    if stop_of(snapshot.world.tree, group).policy is not StopPolicy.HOLD_AND_DRAIN:
        return Condition("Drained", "False", "NotDraining", "")
    if workloads.admitted:
        return Condition("Drained", "False", _DRAINING, f"{workloads.admitted} workloads have not ended yet")
    return Condition("Drained", "True", "Empty", "no admitted workload is left in the group or below it")
