"""Read what `sacctmgr` prints: `dump`, and `show assoc` and `show qos` with --parsable2; what `scontrol show` prints.

A dump has one line for each account or user below the last `Parent - 'NAME'`, with options after colons. A table has a
header, and `|` between its columns; accounts are rows without a user. `scontrol show partition` and `show node` have
words KEY=VALUE, over several lines up to an empty one or, with --oneliner, on one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.read.manifests import Manifest

_LINE: Final = re.compile(r"^(Cluster|Parent|Account|User) - '([^']*)'(.*)$")
_OPTION: Final = re.compile(r":([A-Za-z]+)=('(?:[^']*)'|[^:]*)")
_COLUMNS: Final = {"Share": "Fairshare", "GrpSubmit": "GrpSubmitJobs", "MaxWall": "MaxWallDurationPerJob"}
"""Columns of a table that a dump calls otherwise."""
_NAMES: Final = frozenset({"Cluster", "Account", "User", "Par Name", "ParentName", "Name"})
_SNIFFED: Final = 4096
_SHOWN: Final = {"PartitionName": "Partition", "NodeName": "Node"}
"""The first word of what `scontrol show` prints → the kind of record."""
_WORD: Final = re.compile(r"([A-Za-z:]+)=(\S*)")


@dataclass(frozen=True, slots=True)
class SlurmRecord:
    """An account, a user in it, a QOS, a partition or a node: its name, its parent, its limits as they are written."""

    kind: str
    name: str
    parent: str
    options: Mapping[str, str]
    file: str
    line: int

    @property
    def manifest(self) -> Manifest:
        """The record as notes name it."""
        body = {"metadata": {"name": self.name}}
        return Manifest(self.kind, "slurm", self.name, None, body, self.file, self.line, "")


def read_slurm(files: Sequence[str]) -> tuple[list[SlurmRecord], list[str]]:
    """Return the records in those files that sacctmgr and scontrol have written, and the other files."""
    records, others = list[SlurmRecord](), list[str]()
    for file in files:
        text = _text_of(file)
        if text is None:
            others.append(file)
        else:
            read = _from_dump if _is_dump(text) else _from_shown if _is_shown(text) else _from_table
            records += read(file, text)
    return records, others


def _text_of(file: str) -> str | None:
    path = Path(file)
    if not path.is_file():
        return None
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
    return text if _is_dump(text) or _is_table(text) or _is_shown(text) else None


def _is_dump(text: str) -> bool:
    lines = (line for line in text[:_SNIFFED].splitlines() if line and not line.startswith("#"))
    return bool(_LINE.match(next(lines, "")))


def _is_table(text: str) -> bool:
    columns = text.partition("\n")[0].split("|")
    return len(columns) > 2 and ("Account" in columns or {"Name", "Priority"} <= set(columns))


def _is_shown(text: str) -> bool:
    return text.lstrip().partition("=")[0] in _SHOWN


def _from_shown(file: str, text: str) -> Iterator[SlurmRecord]:
    begins, options = 0, dict[str, str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        words = dict(_WORD.findall(line))
        if options and (not line.strip() or _SHOWN.keys() & words.keys()):
            first = next(iter(options))
            yield SlurmRecord(_SHOWN[first], options.pop(first), "", options, file, begins)
            options = {}
        begins = begins if options else number
        options |= words


def _from_dump(file: str, text: str) -> Iterator[SlurmRecord]:
    parent = "root"
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        kind, name, rest = found.groups()
        if kind == "Parent":
            parent = name
        elif kind != "Cluster":
            options = {key: value.strip("'") for key, value in _OPTION.findall(rest)}
            yield SlurmRecord(kind, name, parent, options, file, number)


def _from_table(file: str, text: str) -> Iterator[SlurmRecord]:
    header, *rows = text.splitlines()
    columns = header.split("|")
    above: list[str] = []
    for number, row in enumerate(rows, 2):
        cells = dict(zip(columns, row.split("|"), strict=False))
        options = {_COLUMNS.get(key, key): value for key, value in cells.items() if key not in _NAMES and value}
        if "Account" not in cells:
            yield SlurmRecord("QOS", cells.get("Name", ""), "", options, file, number)
            continue
        name, user = cells["Account"].strip(), cells.get("User", "").strip()
        depth = len(cells["Account"]) - len(cells["Account"].lstrip())  # `show assoc tree` indents by one a level
        if user:
            yield SlurmRecord("User", user, name, options, file, number)
        elif name:
            above[depth:] = [name]
            parent = cells.get("Par Name") or cells.get("ParentName") or (above[depth - 1] if depth else "root")
            if name != "root":
                yield SlurmRecord("Account", name, parent, options, file, number)
