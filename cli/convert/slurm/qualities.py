"""Slurm's QOS: their priorities as workload priorities, their limits as those of the only account that has one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cli.convert.conversion import Conversion
from cli.convert.slurm.records import SlurmRecord
from cli.convert.slurm.tres import RESOURCES, tres_quantity
from shared.api.names import PRIORITY_LABEL
from shared.resources import QuantityError, read_amount

CARRIED: Final = ("GrpTRES", "GrpJobs", "MaxWallDurationPerJob")
_SAYS_NOTHING: Final = ("", "0", "-1", "cluster", "1.000000", "00:00:00")


def convert_qualities(records: Sequence[SlurmRecord], made: Conversion) -> list[SlurmRecord]:
    """Note what QOS become; return the other records, with the limits of a QOS in the only account that has it."""
    qualities = {each.name: each for each in records if each.kind == "QOS"}
    _note_priorities([*qualities.values()], made)
    users: dict[str, list[SlurmRecord]] = {}
    for each in records:
        if each.kind == "Account":
            for name in _qualities_of(each):
                users.setdefault(name, []).append(each)
    bound: dict[int, SlurmRecord] = {}
    for name, quality in qualities.items():
        only = [each for each in users.get(name, ()) if _qualities_of(each) == [name]]
        alone = len(only) == len(users.get(name, ())) == 1
        if alone:
            bound[id(only[0])] = _with_limits(only[0], quality)
        _note_rest(quality, made, carried=CARRIED if alone else ())
    return [bound.get(id(each), each) for each in records if each.kind != "QOS"]


def _note_priorities(qualities: Sequence[SlurmRecord], made: Conversion) -> None:
    values = {each.name: each.options.get("Priority", "0") for each in qualities}
    if any(value != "0" for value in values.values()):
        listed = ", ".join(f"{{name: {name.lower()}, value: {value}}}" for name, value in values.items())
        text = f"set workloadPriorities: [{listed}] below `quota` in the chart's values; --qos is then the label"
        made.note(qualities[0].manifest, "Priority", f"{text} {PRIORITY_LABEL}, which is refused until then")
        made.priorities += [
            {"name": name.lower(), "value": int(value)} for name, value in values.items() if value.isdecimal()
        ]


def _qualities_of(account: SlurmRecord) -> list[str]:
    return [each.lstrip("+") for each in account.options.get("QOS", "").split(",") if each.lstrip("+")]


def _with_limits(account: SlurmRecord, quality: SlurmRecord) -> SlurmRecord:
    """Return the account with the tighter limit of both, for each that a group has."""
    options = dict(account.options)
    for key in CARRIED:
        own, more = options.get(key, ""), quality.options.get(key, "")
        if more:
            options[key] = _tighter(own, more) if key == "GrpTRES" and own else own or more
    return replace(account, options=options)


def _tighter(own: str, more: str) -> str:
    amounts = dict(part.partition("=")[::2] for part in own.split(","))
    for part in more.split(","):
        name, _, amount = part.partition("=")
        if name not in amounts or _is_less(name, amount, amounts[name]):
            amounts[name] = amount
    return ",".join(f"{name}={amount}" for name, amount in amounts.items())


def _is_less(name: str, amount: str, than: str) -> bool:
    resource = RESOURCES.get(name, name)
    try:
        return read_amount(resource, tres_quantity(resource, amount)) < read_amount(
            resource, tres_quantity(resource, than)
        )
    except QuantityError:
        return False


def _note_rest(quality: SlurmRecord, made: Conversion, carried: Sequence[str]) -> None:
    left: Mapping[str, str] = {
        key: value
        for key, value in quality.options.items()
        if key not in (*carried, "Priority") and value not in _SAYS_NOTHING
    }
    if left:
        written = ", ".join(f"{key} {value}" for key, value in left.items())
        made.note(quality.manifest, "", f"is left out ({written}): limits of a QOS have no counterpart; write a group")
