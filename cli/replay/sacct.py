"""Reads what Slurm's `sacct --parsable2` prints: a line for each job or task of an array; steps are left out."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cli.convert.slurm.tres import RESOURCES, tres_quantity
from cli.read.manifests import UnreadableFile
from cli.replay.mapping import LogMapping, waiting_workload
from cli.replay.past import PastLog, PastWorkload, UnreadLines

COMMAND: Final = (
    "sacct --allusers --duplicates --parsable2 --noconvert "
    "--format=JobID,User,Account,Partition,State,Submit,Start,End,ReqTRES,AllocTRES"
)
_NEEDED: Final = ("JobID", "Account", "State", "Submit", "Start", "End")
_ABSENT: Final = frozenset({"", "Unknown", "None", "N/A"})
_WAITING: Final = frozenset({"PENDING", "SUSPENDED"})
_AGAIN: Final = frozenset({"REQUEUED", "PREEMPTED", "NODE_FAIL"})
_WAITING_TASKS: Final = re.compile(r"_\[[^\]]*\]$")


def is_sacct(first_line: str) -> bool:
    """Return whether a file with this first line was printed by sacct."""
    return "|" in first_line and "JobID" in first_line.split("|")


def read_sacct(path: str, mapping: LogMapping) -> PastLog:
    """Return the log in the file. Raises Problem for a file without what is needed."""
    unread = UnreadLines()
    lines = _text(path).splitlines()
    names = lines[0].split("|") if lines else []
    absent = [name for name in _NEEDED if name not in names]
    if absent or not {"ReqTRES", "AllocTRES"} & set(names):
        missing = ", ".join(absent or ["ReqTRES"])
        raise UnreadableFile(path, 1, f"has no column {missing}; print it with {COMMAND}")
    jobs: dict[str, list[_Row]] = {}
    for number, line in enumerate(lines[1:], 2):
        values = line.split("|")
        row = dict(zip(names, values, strict=False))
        if len(values) != len(names):
            unread.add(number, f"has {len(values)} fields, not {len(names)}")
        elif "." not in row["JobID"]:
            _read_row(number, row, mapping, jobs, unread)
    found = sorted((_workload(rows) for rows in jobs.values()), key=lambda each: each.workload.created)
    if not found:
        raise UnreadableFile(path, None, "; ".join(["holds no job", *unread.lines()]))
    ends = [each.end for rows in jobs.values() for each in rows if each.end is not None]
    return PastLog(found[0].workload.created, max(ends, default=found[-1].workload.created), tuple(found), (), unread)


class _Row:
    """One line: a run of a job, or its wait."""

    def __init__(self, row: Mapping[str, str], mapping: LogMapping) -> None:
        self.row = row
        self.state = row["State"].partition(" ")[0]
        submitted = _moment(row["Submit"], mapping)
        if submitted is None:
            raise ValueError(f"job {row['JobID']} has no time of submission")
        self.submitted = submitted
        self.start = _moment(row["Start"], mapping)
        self.end = _moment(row["End"], mapping)
        if self.start is not None and self.end is not None and self.end < self.start:
            raise ValueError(f"job {row['JobID']} ends before it starts")
        requests, types = _requests(row.get("AllocTRES") or row.get("ReqTRES") or "", mapping)
        if not requests:
            requests, types = _requests(row.get("ReqTRES") or "", mapping)
        chosen = (mapping.flavors.get(name) for name in (*types, row.get("Partition", "").partition(",")[0]))
        name = row["JobID"].replace("_", "-").replace("+", "-")
        group = mapping.group_of(row["Account"])
        user = row.get("User", "").lower() or "unknown"
        self.workload = waiting_workload(name, group, requests, submitted, next(filter(None, chosen), None), user)


def _read_row(
    number: int, row: Mapping[str, str], mapping: LogMapping, jobs: dict[str, list[_Row]], unread: UnreadLines
) -> None:
    if _WAITING_TASKS.search(row["JobID"]):
        unread.add(number, f"job {row['JobID']} is several tasks that have not started")
        return
    try:
        jobs.setdefault(row["JobID"], []).append(_Row(row, mapping))
    except ValueError as error:
        unread.add(number, str(error))
        if not jobs.get(row["JobID"]):
            jobs.pop(row["JobID"], None)


def _workload(rows: list[_Row]) -> PastWorkload:
    """Return the job of these lines: several where it was requeued, each with the time it was submitted at first."""
    rows.sort(key=lambda each: (each.start is None, each.start or each.submitted))
    starts = tuple(each.start for each in rows if each.start is not None)
    last = rows[-1]
    evictions = tuple(each.end for each in rows[:-1] if each.state in _AGAIN and each.end is not None)
    if last.start is None:
        left = last.end if last.state.startswith("CANCELLED") else None
        return PastWorkload(rows[0].workload, None, starts, evictions, left)
    if last.end is None or last.state == "RUNNING":
        return PastWorkload(rows[0].workload, None, starts, evictions)
    return PastWorkload(rows[0].workload, max(timedelta(seconds=1), last.end - last.start), starts, evictions)


def _requests(tres: str, mapping: LogMapping) -> tuple[dict[str, str], list[str]]:
    """Return resource → quantity of a text such as cpu=4,mem=16G,gres/gpu:a100=2, and the types of devices in it."""
    found: dict[str, str] = {}
    types: list[str] = []
    for name, _, amount in (part.partition("=") for part in tres.split(",") if part):
        plain, _, kind = name.partition(":")
        resource = mapping.resources.get(name) or mapping.resources.get(plain) or RESOURCES.get(plain)
        if kind:
            types.append(kind)
        if resource is not None and (not kind or resource not in found):
            found[resource] = tres_quantity(resource, amount)
    return found, types


def _moment(text: str, mapping: LogMapping) -> datetime | None:
    if text in _ABSENT:
        return None
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=mapping.zone)).astimezone(UTC)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UnreadableFile(path, None, f"cannot be read: {error.strerror}") from error
