"""Slurm's accounts as groups: fairshare is the weight, GrpTRES and GrpJobs max, MaxWall maxRunTime.

GrpTRESMins are budgets, shares of users weights in their account's order. What limits users is named.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from cli.convert.conversion import Conversion, read_one
from cli.convert.draft import NamedParent, QuotaGroupDraft, cover_children, cover_parents, cover_requested, set_parents
from cli.convert.slurm.partitions import convert_partitions, spread
from cli.convert.slurm.qualities import convert_qualities
from cli.convert.slurm.records import SlurmRecord
from cli.convert.slurm.tres import RESOURCES, tres_quantity
from cli.convert.weights import Weights
from shared.api.durations import LONGEST, SHORTEST_RUN_TIME, write_duration
from shared.api.names import WORKLOAD_COUNT
from shared.quota.model.budgets.budget import write_hours
from shared.resources import Amount

_MINUTES: Final = "GrpTRESMins"
_JOBS: Final = "GrpJobs"
_INHERITED: Final = "parent"
_DESCRIPTIONS: Final = frozenset({"Description", "Organization", "DefaultAccount", "AdminLevel"})
_DEFAULTS: Final = {("Fairshare", "1"), ("QOS", "normal"), ("Def QOS", "normal"), ("DefaultQOS", "normal")}
_WALL: Final = "MaxWallDurationPerJob"
_TIME: Final = "is left out: budgets of resources times time have no counterpart"
_RUN: Final = "is left out: a user has no limit of run time of their own; write maxRunTime on a group"
_JOB: Final = "is left out: a limit of one job has no counterpart; kube's LimitRange bounds pods"
_NUMBER: Final = "is left out: only jobs that run are counted, and those of a group; write a max of workloads"
_LOSSES: Final = {
    "GrpTRESRunMins": _TIME,
    "MaxTRESMins": _TIME,
    "MaxTRESMinsPerJob": _TIME,
    "GrpWall": _TIME,
    _WALL: _RUN,
    "MaxTRES": _JOB,
    "MaxTRESPerJob": _JOB,
    "MaxTRESPerNode": _JOB,
    "GrpSubmitJobs": _NUMBER,
    "MaxJobs": _NUMBER,
    "MaxSubmit": _NUMBER,
    "MaxSubmitJobs": _NUMBER,
    "Priority": "is left out: write a PriorityClass",
}
_BUDGETED: Final = (
    "becomes budgets of all time, and what runs goes on when they are spent; where Slurm's usage decays or is reset "
    "(PriorityUsageResetPeriod), write that period, and whenSpent: Drain to stop what runs"
)
_BY_USER: Final = (
    "users of an account share its group in the order of their past use (order: User), by the names that they have "
    "in the cluster; limits of one user have no counterpart"
)


def convert_slurm(given: Sequence[SlurmRecord], made: Conversion) -> None:
    """Add flavors and the group of every account, and note what users, QOS and limits of jobs and time lose."""
    flavors = convert_partitions(given, made)
    records = convert_qualities(given, made)
    named: list[NamedParent] = []
    accounts: dict[str, SlurmRecord] = {}
    weights = Weights()
    for record in (each for each in records if each.kind == "Account"):
        draft = made.add_group(record.manifest, _group_name(record.name), "account")
        named.append(NamedParent(draft, record.name, record.parent))
        accounts[draft.name] = record
        _set_max(draft, record, made)
        _set_number(draft, record)
        _set_run_time(draft, record, made)
        _set_budgets(draft, record, made)
        share = record.options.get("Fairshare", "1")
        if share == _INHERITED:
            made.note(
                record.manifest, "Fairshare", "is parent: its users compete with those of other accounts; weight 1"
            )
        weights.add(record.manifest, draft, 1 if share == _INHERITED else share)
        _note_losses(record, made)
    users = [each for each in records if each.kind == "User" and each.name != "root"]
    for record in users:
        made.note_once(record.manifest, "", _BY_USER)
        _note_losses(record, made)
    groups = set_parents(named, ("", "root"))
    for draft in groups.values():
        draft.is_parent = any(other.parent == draft.name for other in groups.values())
    _order_by_user({each.source: each.draft for each in named}, users, made)
    _cover(groups)
    if flavors:
        spread(groups, accounts, given, flavors, made)
    cover_children(groups, additive=False)
    if not flavors:
        cover_parents(groups)
    weights.write(groups)


def _cover(groups: Mapping[str, QuotaGroupDraft]) -> None:
    if groups:
        cover_requested(groups, ("cpu", "memory"))


def _order_by_user(drafts: Mapping[str, QuotaGroupDraft], users: Sequence[SlurmRecord], made: Conversion) -> None:
    """Let the jobs of a leaf come in the order of its users' past use, by their shares."""
    for record in users:
        draft, share = drafts.get(record.parent), record.options.get("Fairshare", "1")
        if draft is None:
            continue
        if draft.is_parent:
            made.note(record.manifest, "", f"its account {record.parent} has accounts below it, and takes no jobs here")
            continue
        queueing = draft.spec.setdefault("queueing", {"order": "User"})
        if share not in ("1", _INHERITED):
            queueing.setdefault("weights", {})[record.name] = share


def _group_name(account: str) -> str:
    return account.lower().replace("_", "-")


def _set_max(draft: QuotaGroupDraft, record: SlurmRecord, made: Conversion) -> None:
    for part in filter(None, record.options.get("GrpTRES", "").split(",")):
        name, _, amount = part.partition("=")
        resource = RESOURCES.get(name)
        if resource is None:
            made.note(record.manifest, "GrpTRES", f"{part} is left out: no resource of pods is counted by that name")
        elif amount != "-1":
            quantity = tres_quantity(resource, amount)
            draft.set("max", {resource: read_one(record.manifest, "GrpTRES", resource, quantity)})


def _set_number(draft: QuotaGroupDraft, record: SlurmRecord) -> None:
    most = record.options.get(_JOBS, "-1")
    if most != "-1":
        draft.set("max", {WORKLOAD_COUNT: read_one(record.manifest, _JOBS, WORKLOAD_COUNT, most)})


def _set_run_time(draft: QuotaGroupDraft, record: SlurmRecord, made: Conversion) -> None:
    written = record.options.get(_WALL)
    if written is None or written == "-1":
        return
    limit = _wall_time(written)
    if limit is None:
        made.note(record.manifest, _WALL, f"{written} is no time; left out")
    else:
        draft.spec["maxRunTime"] = write_duration(limit)


def _wall_time(text: str) -> timedelta | None:
    """Return a time of Slurm's: minutes, [hours:]minutes:seconds, or days-hours[:minutes[:seconds]]; None: it is none.

    >>> _wall_time("1-12") == timedelta(hours=36), _wall_time("90") == timedelta(minutes=90)
    (True, True)
    """
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(each.isascii() and each.isdigit() and len(each) < 8 for each in (*parts, days or "0")) or len(parts) > 3:
        return None
    numbers = [int(each) for each in parts]
    if dash:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    else:
        hours, minutes, seconds = {1: (0, *numbers, 0), 2: (0, *numbers)}.get(len(numbers), tuple(numbers))
    found = timedelta(days=int(days or 0), hours=hours, minutes=minutes, seconds=seconds)
    return found if SHORTEST_RUN_TIME <= found <= LONGEST else None


def _set_budgets(draft: QuotaGroupDraft, record: SlurmRecord, made: Conversion) -> None:
    """Give the group its minutes of a resource as a budget of hours that never begins again."""
    budgets = []
    for part in filter(None, record.options.get(_MINUTES, "").split(",")):
        name, _, amount = part.partition("=")
        resource = RESOURCES.get(name)
        if resource is None:
            made.note(record.manifest, _MINUTES, f"{part} is left out: no resource of pods is counted by that name")
        elif amount != "-1":
            minutes = read_one(record.manifest, _MINUTES, resource, tres_quantity(resource, amount))
            hours = _hours(resource, minutes)
            budgets.append({"resource": resource, "hours": hours, "period": "Total", "whenSpent": "NoStart"})
    if budgets:
        draft.spec["budgets"] = budgets
        made.note(record.manifest, _MINUTES, _BUDGETED)


def _hours(resource: str, minutes: Amount) -> str:
    """Return base units times minutes as hours of a budget, rounded up to a thousandth."""
    return write_hours(-(-minutes * (1 if resource == "cpu" else 1000) // 60))


def _note_losses(record: SlurmRecord, made: Conversion) -> None:
    for key, value in record.options.items():
        own = ("GrpTRES", _JOBS, _MINUTES, "Fairshare", _WALL) if record.kind == "Account" else ("Fairshare",)
        carried = key in own or (key == "QOS" and record.kind == "Account")
        if not (carried or key in _DESCRIPTIONS or (key, value) in _DEFAULTS):
            text = _LOSSES.get(key, "has no counterpart and is left out")
            made.note(record.manifest, key, f"{value} {text}")
