"""`quotree test`: what a case compares, what differs for a tree that breaks the agreement, how results are printed."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.commands.offline import check
from cli.commands.offline import test as command
from tests.documented.documentation import blocks
from tests.project.repository import ROOT

DOCUMENTED = ROOT / "docs" / "testing"
TREE = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: nlp}
spec: {quotas: [{min: {cpu: 4}}]}
"""
BORROWED = {
    "name": "lent",
    "load": {"jobs": [{"name": "train", "group": "nlp", "count": 8, "requests": {"cpu": 1}}]},
    "submit": {"jobs": [{"name": "ns/want", "group": "vision", "requests": {"cpu": 2}}]},
}
EVICTED = {"train-7": "Reclaimed", "train-8": "Reclaimed"}
WAITING = {"train-7": "WaitingForQuota", "train-8": "WaitingForQuota"}
HAPPENED = {
    "starts": ["ns/want"],
    "evicts": EVICTED,
    "waits": WAITING,
    "numbers": {"nlp": {"default": {"cpu": {"used": 6, "borrowed": "2"}}}},
}


def _number(group: str, flavor: str, word: str, quantity: str | int) -> dict[str, Any]:
    return {"numbers": {group: {flavor: {"cpu": {word: quantity}}}}}


def _try(folder: Path, cases: list[dict[str, Any]], *options: str, **of_file: Any) -> Result:
    (folder / "tree.yaml").write_text(TREE)
    content = {"tree": ["tree.yaml"], "capacity": ["default:cpu=8"], "cases": cases, **of_file}
    (folder / "some.test.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return CliRunner().invoke(command.command, [str(folder), *options])


def _differences(result: Result) -> list[str]:
    return [line.strip() for line in result.stdout.splitlines() if line.startswith(" ")]


def test_documented_cases_pass() -> None:
    result = CliRunner().invoke(command.command, [str(DOCUMENTED)])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "4 cases: 4 passed, 0 failed")


def test_the_page_shows_a_case_of_the_documented_file() -> None:
    shown = yaml.safe_load(next(block for block in blocks("docs/testing.md", "yaml") if "cases:" in block))
    stored = yaml.safe_load((DOCUMENTED / "organisation.test.yaml").read_text())
    assert shown["cases"][0] in stored["cases"]


@pytest.mark.parametrize(
    ("group", "change"),
    [
        ("research", {"cpu: 800m": "cpu: 1"}),
        ("vision", {"min: {cpu: 400m": "max: {cpu: 400m}\n      min: {cpu: 400m"}),
        ("language", {"min: {cpu: 400m": "min: {cpu: 100m"}),
        ("serving", {"lendingLimit: {cpu: 200m}": "lendingLimit: {cpu: 400m}"}),
    ],
)
def test_a_tree_that_breaks_the_agreement_fails_its_cases(tmp_path: Path, group: str, change: dict[str, str]) -> None:
    objects = (ROOT / "examples" / "1-organisation.yaml").read_text().split("---\n")
    ((written, mutated),) = change.items()
    (own,) = (each for each in objects if f"name: {group}," in each)
    assert written in own
    cases = (DOCUMENTED / "organisation.test.yaml").read_text()
    (tmp_path / "some.test.yaml").write_text(cases.replace("../../examples/1-organisation.yaml", "tree.yaml"))
    (tmp_path / "raised.yaml").write_text((DOCUMENTED / "raised.yaml").read_text())
    (tmp_path / "tree.yaml").write_text("---\n".join(objects).replace(own, own.replace(written, mutated)))

    assert CliRunner().invoke(command.command, [str(tmp_path)]).exit_code == 1


def test_what_happens_is_what_was_expected(tmp_path: Path) -> None:
    result = _try(tmp_path, [{**BORROWED, "expect": HAPPENED}])
    assert (result.exit_code, _differences(result)) == (0, [])


DIFFERENCES: dict[str, dict[str, Any]] = {
    "starts: default/train-7 does not start, it waits: ": {"starts": ["ns/want", "train-7"]},
    "starts: default/gone does not start; there is no such pending workload": {"starts": ["ns/want", "gone"]},
    "starts: ns/want starts, of group 'vision'": {"starts": []},
    "evicts: default/train-1 is not evicted": {"evicts": {**EVICTED, "train-1": "Reclaimed"}},
    "evicts: default/train-7 is evicted for ns/want (Reclaimed)": {"evicts": {"train-8": "Reclaimed"}},
    "evicts: default/train-7 is evicted for ns/want (Reclaimed), not Preempted": {
        "evicts": {**EVICTED, "train-7": "Preempted"}
    },
    "waits: ns/want does not wait": {"waits": {**WAITING, "ns/want": "WaitingForQuota"}},
    "waits: default/train-8 waits (WaitingForQuota): ": {"waits": {"train-7": "WaitingForQuota"}},
    "waits: default/train-7 waits (WaitingForQuota): ": {"waits": {**WAITING, "train-7": "Held"}},
    "refuses: QuotaGroup/nlp is not refused by Cycle": {"refuses": {"QuotaGroup/nlp": ["Cycle"]}},
    "numbers: nlp default/cpu used is 6, not 6500m": _number("nlp", "default", "used", "6500m"),
    "numbers: there is no group 'audio'": _number("audio", "default", "used", 1),
    "numbers: nlp a100/cpu has no numbers: no entry of the group names it": _number("nlp", "a100", "used", 1),
    "numbers: nlp default/cpu use is no number; there are min, ": _number("nlp", "default", "use", 1),
    "numbers: nlp default/cpu used: ": _number("nlp", "default", "used", "much"),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_each_difference_is_reported_once(tmp_path: Path, difference: str) -> None:
    result = _try(tmp_path, [{**BORROWED, "expect": DIFFERENCES[difference]}])
    found = _differences(result)
    assert (result.exit_code, len(found)) == (1, 1)
    assert found[0].startswith(difference)


def test_what_is_refused_and_not_expected_fails(tmp_path: Path) -> None:
    into_nothing = {"jobs": [{"name": "lost", "group": "audio", "requests": {"cpu": 1}}]}
    result = _try(tmp_path, [{"name": "lost", "submit": into_nothing, "expect": {"starts": []}}])
    assert [line.partition(" is refused")[0] for line in _differences(result)] == ["refuses: Job/default/lost"]
    expected = {"starts": [], "waits": {}, "refuses": {"Job/default/lost": ["GroupAbsent"]}}
    assert _try(tmp_path, [{"name": "lost", "submit": into_nothing, "expect": expected}]).exit_code == 0


def test_what_has_ended_makes_room(tmp_path: Path) -> None:
    load = {"jobs": [{"name": "train", "group": "nlp", "count": 9, "requests": {"cpu": 1}}]}
    case = {"name": "room", "load": load, "ends": ["train-2"], "expect": {"starts": ["train-9"], "waits": {}}}
    assert _try(tmp_path, [case]).exit_code == 0


def test_an_illegal_tree_fails_its_cases_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(
        TREE.partition("---")[0].replace("vision", "audio").replace("[{min", "[{max: {cpu: 2}, min")
    )
    result = _try(tmp_path, [{**BORROWED, "expect": HAPPENED}], tree=["tree.yaml", "more.yaml"])
    assert [line.partition(": QuotaGroup")[0] for line in _differences(result)] == ["the tree or the load is illegal"]


TWICE = [{**BORROWED, "expect": HAPPENED}] * 2
PROBLEMS: dict[str, dict[str, Any]] = {
    "cases[0].expects: unknown key; did you mean expect?": {"case": {"expects": {}}},
    "cases[0].expect: expects nothing; say what starts": {"case": {"expect": {}}},
    "cases[0].name: 5 is not text": {"case": {"name": 5}},
    "cases[0].load.jobs[0].count: 0 is not": {"case": {"load": {"jobs": [{"name": "a", "group": "b", "count": 0}]}}},
    "several cases have the name 'lent'": {"cases": TWICE},
    "has no tree; name its files under `tree`": {"tree": []},
    "gone.yaml: no such file or folder": {"case": {"edit": ["gone.yaml"]}},
    "there is no case in": {"cases": []},
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_file_that_cannot_be_tried_says_where_and_why(tmp_path: Path, problem: str) -> None:
    given = dict(PROBLEMS[problem])
    case = {**BORROWED, "expect": HAPPENED, **given.pop("case", {})}
    result = _try(tmp_path, given.pop("cases", [case]), **given)
    assert problem in str(result.exception)


def test_a_folder_without_cases_is_a_problem(tmp_path: Path) -> None:
    result = CliRunner().invoke(command.command, [str(tmp_path)])
    assert "there is no file of cases" in str(result.exception)


def test_results_for_programs(tmp_path: Path) -> None:
    cases = [{**BORROWED, "expect": HAPPENED}, {**BORROWED, "name": "100%, lent: no", "expect": {"starts": []}}]
    file = f"{tmp_path}/some.test.yaml"
    junit = Xml.fromstring(_try(tmp_path, cases, "-o", "junit").stdout)
    assert (junit.get("tests"), junit.get("failures")) == ("2", "1")
    assert [each.get("name") for each in junit.iter("testcase")] == ["lent", "100%, lent: no"]
    assert [each.get("message") for each in junit.iter("failure")] == ["starts: ns/want starts, of group 'vision'"]

    data = json.loads(_try(tmp_path, cases, "-o", "json").stdout)
    assert [len(each["differences"]) for each in data] == [0, 1]
    line = data[1]["line"]
    assert (tmp_path / "some.test.yaml").read_text().splitlines()[line - 1] == "- name: '100%, lent: no'"
    github = _try(tmp_path, cases, "-o", "github").stdout
    assert github == (
        f"::error file={file},line={line},title=100%25%2C lent%3A no::starts: ns/want starts, of group 'vision'\n"
    )


def test_check_and_simulate_leave_files_of_cases_out(tmp_path: Path) -> None:
    _try(tmp_path, [{**BORROWED, "expect": HAPPENED}])
    assert CliRunner().invoke(check.command, [str(tmp_path)]).exit_code == 0
