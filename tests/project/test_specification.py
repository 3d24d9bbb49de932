"""docs/specification.md is numbered without a gap, its worked examples are what the engine does, its settings exist."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shared.api.annotations import MAX_ANNOTATION
from shared.api.crds.parts import MAX_ENTRIES, MAX_NAME, MAX_RESOURCES
from shared.api.names import MAX_POD_GROUP
from shared.api.review import MAX_SIGNS
from shared.process.quota_settings import QuotaSettingsFile
from shared.quota.decide.decisions import EvictionRule, Plan, Tier, WaitReason
from shared.quota.decide.plan import plan
from shared.quota.measure.report import WORDS, words_of
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.measure.static.pod_set_choices import MOST_ASSIGNMENTS
from shared.quota.model.rules.findings import MAX_TEXT
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import DEFAULT_FLAVOR, ROOT, Entry, Group, StopPolicy, Tree, WhenCanBorrow
from shared.quota.model.workload import EvictionReason, Workload
from shared.quota.outlook.advise.remedy import RemedyAction
from shared.quota.outlook.explain.explanation import BindingLimit
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.run import MOST_CYCLES
from shared.resources import MAX_QUANTITY_LENGTH
from tests.builders import NOW, after, pending, running, world
from tests.trees import GPU, KEY
from webhook.http.server import MAX_BODY

PAGE = (Path(__file__).parents[2] / "docs" / "specification.md").read_text(encoding="utf-8")
LIMITS = {
    "min": "min",
    "max": "max",
    "weight": "weight",
    "lendingLimit": "lending_limit",
    "borrowingLimit": "borrowing_limit",
}
NUMBERS = ("used", "request", "demand", "guarantee", "effectiveMin", "charge", "runtime")
Row = Mapping[str, str]


@dataclass
class Example:
    """One capacity, one table of groups, and one of workloads where something is decided."""

    name: str
    capacity: int
    groups: list[Row] = field(default_factory=list)
    workloads: list[Row] = field(default_factory=list)


def examples() -> Iterator[Example]:
    """Every worked example of the page: a sentence that ends in `Capacity: N`, then its tables."""
    found: Example | None = None
    columns: list[str] = []
    for line in PAGE.splitlines():
        begins = re.fullmatch(r"\*+(.+?)\*+.* Capacity: (\d+)", line)
        if begins is not None or line.startswith("#"):
            if found is not None:
                yield found
            found = Example(begins[1], int(begins[2])) if begins is not None else None
        elif found is not None and line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] in ("group", "workload"):
                columns = cells
            elif not cells[0].startswith("-"):
                rows = found.groups if columns[0] == "group" else found.workloads
                rows.append({name: cell for name, cell in zip(columns, cells, strict=True) if cell})


EXAMPLES = {each.name: each for each in examples()}


def tree_of(example: Example) -> Tree:
    parents = {row["parent"] for row in example.groups}
    groups = [
        Group(
            row["group"],
            row["parent"],
            row["group"] in parents,
            quotas=(Entry(DEFAULT_FLAVOR, **_limits(row, not any(word in row for word in ("min", "max")))),),
        )
        for row in example.groups
    ]
    return Tree.of([Group(ROOT, parent=None, is_parent=True), *groups])


def _limits(row: Row, is_bare: bool) -> dict[str, Any]:
    """A group without min and max has min 0: an entry covers nothing else."""
    found = {name: {GPU: int(row[word])} for word, name in LIMITS.items() if word in row}
    return {**found, "min": {GPU: 0}} if is_bare else found


def workloads_of(example: Example) -> list[Workload]:
    if not example.workloads:
        asking = [row for row in example.groups if "parent" in row and "request" in row]
        return [pending(row["group"], 1, f"{row['group']}-{n}") for row in asking for n in range(int(row["request"]))]
    return [_workload(row) for row in example.workloads]


def _workload(row: Row) -> Workload:
    fields: dict[str, Any] = {
        "priority": int(row.get("priority", "0")),
        "preemptible": row.get("preemptible") != "false",
    }
    group, request, name = row["group"], int(row["request"]), row["workload"]
    if row["state"] == "waiting":
        return pending(group, request, name, **fields)
    since = row["state"].removeprefix("running").removeprefix(" since ")
    return running(group, request, name, since=after(int(since or "0")), **fields)


def measured(example: Example) -> Snapshot:
    settings = QuotaSettings(capacity=((DEFAULT_FLAVOR, GPU, example.capacity),))
    return measure(world(tree_of(example), workloads_of(example), settings=settings), NOW)


def decision(workload: str, decided: Plan) -> str:
    """What the plan does with one workload, in the words of the page."""
    key = f"ns/{workload}"
    for start in decided.starts:
        if start.workload.key == key:
            return f"starts {start.tier.value}"
    for evict in decided.evictions:
        if evict.workload.key == key:
            return f"evicted for {evict.claim.preemptor.removeprefix('ns/')}" if evict.claim else "evicted"
    return "waits" if any(each.workload.key == key for each in PendingReasons(decided)) else "stays"


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_numbers_of_a_worked_example_match_the_engine(example: Example) -> None:
    snapshot = measured(example)
    written = {row["group"]: {word: int(row[word]) for word in NUMBERS if word in row} for row in example.groups}
    if not example.workloads:
        written = {
            name: {word: n for word, n in numbers.items() if word != "request"} for name, numbers in written.items()
        }
    found = {name: words_of(snapshot.numbers[name][KEY]) for name in written}
    assert {name: {word: found[name][word] for word in numbers} for name, numbers in written.items()} == written


@pytest.mark.parametrize("example", [each for each in EXAMPLES.values() if each.workloads], ids=lambda each: each.name)
def test_decisions_of_a_worked_example_match_the_engine(example: Example) -> None:
    decided = plan(measured(example))
    written = {row["workload"]: row["decision"] for row in example.workloads}
    assert {name: decision(name, decided) for name in written} == written


def test_specification_has_worked_examples_of_arithmetic_and_decisions() -> None:
    with_decisions = [each for each in EXAMPLES.values() if each.workloads]
    assert (len(EXAMPLES) - len(with_decisions) >= 5, len(with_decisions) >= 5) == (True, True)


def test_sections_and_clauses_are_numbered_without_gaps() -> None:
    numbers = [tuple(map(int, found.split("."))) for found in re.findall(r"(?m)^##+ (\d+(?:\.\d+)?) ", PAGE)]
    expected: list[tuple[int, ...]] = []
    for each in numbers:
        section = expected[-1][0] if expected else 0
        if len(each) == 1:
            expected.append((section + 1,))
        else:
            last = expected[-1][1] if len(expected[-1]) > 1 else 0
            expected.append((section, last + 1))
    assert numbers == expected


def settings_of(kind: type, prefix: str = "") -> Iterator[str]:
    """Every key of a settings file, as it is written."""
    for each in msgspec.structs.fields(kind):
        if isinstance(each.type, type) and issubclass(each.type, msgspec.Struct):
            yield from settings_of(each.type, f"{prefix}{each.encode_name}.")
        else:
            yield f"{prefix}{each.encode_name}"


def test_every_setting_of_the_quota_engine_is_listed_and_others_are_marked_as_planned() -> None:
    section = PAGE[PAGE.index("### 11.1 ") : PAGE.index("### 11.2 ")]
    planned = PAGE[PAGE.index("### 1.4 ") : PAGE.index("## 2 ")]
    listed = set(re.findall(r"(?m)^\| `([\w.]+)` \|", section))
    there = set(settings_of(QuotaSettingsFile))
    assert (sorted(there - listed), {name for name in listed if f"`{name}`" in planned}) == ([], listed - there)


@pytest.mark.parametrize(
    "words", [WaitReason, EvictionReason, EvictionRule, Tier, StopPolicy, WhenCanBorrow, BindingLimit, RemedyAction]
)
def test_every_output_word_is_on_the_page(words: type[StrEnum]) -> None:
    assert [word.value for word in words if f"`{word.value}`" not in PAGE and f": {word.value}`" not in PAGE] == []


def test_every_number_of_simulate_is_listed() -> None:
    section = PAGE[PAGE.index("### 9.5 ") : PAGE.index("### 9.6 ")]
    assert [word for word in WORDS if f"`{word}`" not in section] == []


def test_fixed_limits_match_the_code() -> None:
    section = PAGE[PAGE.index("## 10 ") : PAGE.index("## 11 ")]
    written = {int(each.replace(",", "")) for each in re.findall(r"(?<=[| ])[\d,]*\d\b", section)}
    limits = {
        *(MAX_ENTRIES, MAX_NAME, MAX_QUANTITY_LENGTH, MAX_POD_GROUP, MOST_ASSIGNMENTS),
        *(MAX_ANNOTATION, MAX_TEXT, MAX_SIGNS, MOST_CYCLES, MAX_BODY >> 20),
    }
    assert (limits - written, MAX_RESOURCES) == (set(), MAX_ENTRIES)
