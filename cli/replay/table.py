"""Reads a CSV table with a workload in each row, such as the public traces of clusters."""

import csv
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from cli.read.manifests import UnreadableFile
from cli.replay.mapping import LogMapping, TableColumns, waiting_workload
from cli.replay.past import PastLog, PastWorkload, UnreadLines
from shared.api.durations import later
from shared.problems import Problem


def read_table(path: str, mapping: LogMapping) -> PastLog:
    """Return the log in a CSV file. Raises Problem for a file without the columns that the mapping names."""
    columns = mapping.table
    if columns is None:
        raise Problem(f"{path}: is a table; name its columns under `table` in a file of --mapping")
    unread = UnreadLines()
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - csv reads the open file
            rows = csv.DictReader(file)
            _check_columns(path, rows.fieldnames or (), columns)
            found = [*_workloads(rows, columns, mapping, unread)]
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(path, None, f"cannot be read: {error}") from error
    if not found:
        raise UnreadableFile(path, None, "; ".join(["holds no workload", *unread.lines()]))
    found.sort(key=lambda each: each.workload.created)
    ends = (later(each.starts[-1], each.run_time) for each in found if each.starts and each.run_time)
    return PastLog(found[0].workload.created, max(ends, default=found[-1].workload.created), tuple(found), (), unread)


def _check_columns(path: str, names: object, columns: TableColumns) -> None:
    wanted = [columns.name, columns.group, columns.submitted, columns.ended, columns.started, columns.flavor]
    wanted += [each.column for each in columns.requests.values()]
    known = list(names) if isinstance(names, (list, tuple)) else []
    absent = [name for name in wanted if name and name not in known]
    if absent:
        raise UnreadableFile(path, 1, f"has no column {', '.join(absent)}; its columns are {', '.join(known)}")


def _workloads(
    rows: "csv.DictReader[str]", columns: TableColumns, mapping: LogMapping, unread: UnreadLines
) -> Iterator[PastWorkload]:
    for row in rows:
        try:
            yield _workload(row, columns, mapping)
        except (ValueError, TypeError, OverflowError) as error:
            unread.add(rows.line_num, str(error))


def _workload(row: Mapping[str, str], columns: TableColumns, mapping: LogMapping) -> PastWorkload:
    submitted = _moment(row[columns.submitted], columns, mapping)
    ended = _moment(row[columns.ended], columns, mapping)
    started = _moment(row[columns.started], columns, mapping) if columns.started and row[columns.started] else None
    if submitted is None:
        raise ValueError("it has no time of submission")
    requests = {name: f"{row[each.column]}{each.unit}" for name, each in columns.requests.items()}
    flavor = mapping.flavors.get(row[columns.flavor]) if columns.flavor else None
    group = mapping.group_of(row[columns.group])
    workload = waiting_workload(row[columns.name], group, requests, submitted, flavor, "log")
    begun = started or (submitted if ended is not None and not columns.started else None)
    if begun is None:
        return PastWorkload(workload, None, left=ended)
    return PastWorkload(workload, None if ended is None else max(timedelta(seconds=1), ended - begun), (begun,))


def _moment(text: str, columns: TableColumns, mapping: LogMapping) -> datetime | None:
    if not text:
        return None
    try:
        return later(datetime.fromisoformat(columns.epoch).astimezone(UTC), timedelta(seconds=float(text)))
    except ValueError:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=mapping.zone)).astimezone(UTC)
