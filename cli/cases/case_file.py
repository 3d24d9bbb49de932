"""What a file of cases says: a tree, and for each case what is there, what comes, and what is expected.

Files are named *.test.yaml and have no manifests in them. Unknown keys and bad values are errors with their line.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from cli.read.manifests import CASES_ENDING, UnreadableFile
from shared.problems import Problem
from shared.process.settings import load_settings

Quantity = str | int
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class ShortJob(msgspec.Struct, rename="camel", kw_only=True):
    """One Job, or `count` equal ones whose names end in -1, -2 and so on, in a line instead of a manifest."""

    name: str
    """NAME or NAMESPACE/NAME."""
    group: str
    requests: dict[str, Quantity] = {}
    """resource → what one pod requests."""
    count: Count | None = None
    parallelism: Count = 1
    priority_class_name: str = ""
    labels: dict[str, str] = {}


class CaseWorkloads(msgspec.Struct, rename="camel"):
    """Workloads, in manifests or short."""

    files: list[str] = []
    jobs: list[ShortJob] = []


class Expected(msgspec.Struct, rename="camel"):
    """What a case expects. A list or mapping that is given is complete: what else happens is a difference."""

    starts: list[str] | None = None
    """What runs at the end and did not run before."""
    evicts: dict[str, str] | None = None
    """workload → reason of its eviction."""
    waits: dict[str, str] | None = None
    """workload → reason for which it waits at the end."""
    refuses: dict[str, list[str]] | None = None
    """object, such as QuotaGroup/vision → the rules that refuse it."""
    numbers: dict[str, dict[str, dict[str, dict[str, Quantity]]]] = {}
    """group → flavor → resource → number, such as runtime → amount at the end; others can be any."""

    def __post_init__(self) -> None:
        if not self.numbers and (self.starts, self.evicts, self.waits, self.refuses) == (None, None, None, None):
            raise ValueError("expects nothing; say what starts, evicts, waits, refuses, or some numbers")


class Case(msgspec.Struct, rename="camel", kw_only=True):
    """One case: `load` comes first and is decided until nothing changes; then all the others at once."""

    name: str
    load: CaseWorkloads = msgspec.field(default_factory=CaseWorkloads)
    ends: list[str] = []
    """Workloads of the load that have finished then."""
    edit: list[str] = []
    """Files of quota objects, applied then in their order."""
    submit: CaseWorkloads = msgspec.field(default_factory=CaseWorkloads)
    expect: Expected


class CaseFileContent(msgspec.Struct, rename="camel"):
    """A file of cases; paths in it are relative to its folder."""

    cases: list[Case]
    tree: list[str] = []
    """Files and folders with quota objects, nodes, namespaces and priority classes; none: the live cluster's."""
    capacity: list[str] = []
    """What root has, as in `quotree simulate --capacity`."""
    settings: str = ""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases, and the line on which each begins."""

    name: str
    content: CaseFileContent
    lines: tuple[int, ...]

    def paths(self, names: Iterable[str]) -> list[str]:
        """Return these paths as seen from the working directory."""
        return [str(Path(self.name).parent / each) for each in names]


def read_case_files(paths: Iterable[str]) -> list[CaseFile]:
    """Read all files of cases in `paths`; a folder means those below it, by name. Raises Problem."""
    files = [_read(name) for path in paths for name in _found(path)]
    if not files:
        raise Problem(f"there is no file of cases in {', '.join(paths)}: their names end in {CASES_ENDING}")
    return files


def full_name(workload: str) -> str:
    """Return NAMESPACE/NAME of a name that may be without a namespace."""
    return workload if "/" in workload else f"default/{workload}"


def _found(path: str) -> Iterator[str]:
    place = Path(path)
    if not place.exists():
        raise UnreadableFile(path, None, "no such file or folder")
    if place.is_dir():
        yield from (str(each) for each in sorted(place.rglob(f"*{CASES_ENDING}")) if each.is_file())
    else:
        yield path


def _read(name: str) -> CaseFile:
    content = load_settings(name, CaseFileContent)
    lines = tuple(_lines_of_cases(Path(name).read_text()))
    repeated = {each.name for each in content.cases if [every.name for every in content.cases].count(each.name) > 1}
    if repeated:
        raise UnreadableFile(name, None, f"several cases have the name {min(repeated)!r}; give each its own")
    return CaseFile(name, content, lines)


def _lines_of_cases(text: str) -> Iterator[int]:
    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value:
        if key.value == "cases":
            yield from (item.start_mark.line + 1 for item in value.value)
