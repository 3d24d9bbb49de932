"""Lists are printed as kubectl prints them: paths, columns of one's own, names, with and without titles."""

from collections.abc import Callable
from typing import Any

import pytest

from cli.render.listing import ListColumn, ListOutput
from cli.render.paths import evaluate
from shared.problems import Problem

ROWS: list[dict[str, Any]] = [
    {"workload": "ns/a", "group": "vision", "position": 1, "why": {"reason": "Held"}},
    {"workload": "ns/b", "group": "nlp", "position": 0, "why": {"reason": "BehindHead"}},
]
COLUMNS = (ListColumn("GROUP", "group"), ListColumn("PLACE", "position"), ListColumn("NAME", "workload", wide=True))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].group}", "vision nlp"),
        ("{.items[0].why.reason}", "Held"),
        ("{.items[-1]['group']}", "nlp"),
        ("{range .items[*]}{.group}={.position}{'\\n'}{end}", "vision=1\nnlp=0\n"),
        ("all: {.items[*].absent}", "all: "),
        ("{.items[1].why}", '{"reason":"BehindHead"}'),
    ],
)
def test_path_selects_the_same_values_as_kubectl(template: str, text: str) -> None:
    assert evaluate(template, {"items": ROWS}) == text


@pytest.mark.parametrize("template", ["{.items[?(@.x)]}", "{range .items[*]}x"])
def test_unreadable_path_is_named(template: str) -> None:
    with pytest.raises(Problem):
        evaluate(template, {"items": ROWS})


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (ListOutput(), ["GROUP    PLACE", "vision   1", "nlp"]),
        (ListOutput("wide", headers=False), ["vision   1   ns/a", "nlp          ns/b"]),
        (ListOutput("name"), ["ns/a", "ns/b"]),
        (ListOutput("jsonpath={.items[*].workload}"), ["ns/a ns/b"]),
        (ListOutput("custom-columns=WHO:.workload,WHY:.why.reason,NO:.absent"),
         ["WHO    WHY          NO", "ns/a   Held         <none>", "ns/b   BehindHead   <none>"]),
    ],
    ids=["table", "wide", "name", "jsonpath", "custom-columns"],
)  # fmt: skip
def test_every_output_format_lists_the_objects(
    output: ListOutput, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    output.print(ROWS, COLUMNS, "workload")
    assert capsys.readouterr().out.splitlines() == lines


def test_name_of_several_rows_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    ListOutput("name").print([*ROWS, *ROWS], COLUMNS, "workload")
    assert capsys.readouterr().out.splitlines() == ["ns/a", "ns/b"]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("name", "ns/a\nns/b\n"),
        ("jsonpath={.why.reason}", "Held\nBehindHead\n"),
        ("yaml", "---\ngroup: vision\n---\ngroup: nlp\n"),
        ("json", '{\n  "group": "vision"\n}\n{\n  "group": "nlp"\n}\n'),
    ],
)
def test_watch_prints_one_document_for_each_row(output: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"group": each["group"]} for each in ROWS] if output in ("yaml", "json") else ROWS
    ListOutput(output, one_by_one=True).print(rows, COLUMNS, "workload")
    assert capsys.readouterr().out == text


def test_empty_list_is_reported_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("table", "wide", "name", "json"):
        ListOutput(output).print([], COLUMNS, "workload")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ('{\n  "items": []\n}\n', "No resources found\n" * 2)


@pytest.mark.parametrize(
    "act",
    [
        lambda: ListOutput("xml"),
        lambda: ListOutput("jsonpath"),
        lambda: ListOutput("custom-columns=GROUP").print(ROWS, COLUMNS, "workload"),
    ],
    ids=["unknown", "no template", "no path"],
)
def test_unsupported_output_format_is_named(act: Callable[[], object]) -> None:
    with pytest.raises(Problem):
        act()
