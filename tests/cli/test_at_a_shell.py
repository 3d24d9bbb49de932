"""The command line at a shell: pipes that close early, terminals without Unicode, mistyped names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.read.cluster.names import unknown_group, unknown_workload
from cli.render.terminal import to_ascii
from cli.render.tree.tree_rows import Filter, rows
from shared.problems import Problem
from shared.text.times import moment_text
from tests.cli.test_tree import GPU, GROUPS

ROOT = Path(__file__).parents[2]
WAITING = str(Path(__file__).parent / "questions" / "waiting.yaml")
SIMULATE = ("simulate", "-f", WAITING, "--capacity", "default:nvidia.com/gpu=8")


def run(*words: str, stdout: int = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cli", *words]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, cwd=ROOT, env=os.environ | environment, check=False
    )


@pytest.mark.parametrize("command", [SIMULATE, (*SIMULATE, "-o", "json"), ("--help",)])
def test_reader_that_has_seen_enough_is_no_error(command: tuple[str, ...]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = run(*command, stdout=writes)
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_locale_without_unicode_gets_ascii(locale: str) -> None:
    done = run("explain", "ns/train-2", "-f", WAITING, "--capacity", "default:nvidia.com/gpu=8", LC_ALL=locale)
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_what_ascii_lacks_is_drawn_with_signs_or_escaped() -> None:
    assert to_ascii("└─ a ██░ …") == "`- a ##. ..."
    assert to_ascii('{"name": "é𝄞"}') == '{"name": "\\u00e9\\ud834\\udd1e"}'


def test_mistyped_command_gets_a_suggestion() -> None:
    done = run("explian", "ns/a")
    assert done.returncode == 2
    assert b"No such command 'explian'. Did you mean 'explain'?" in done.stderr


def test_unknown_flavor_or_resource_is_answered_with_those_that_exist() -> None:
    with pytest.raises(Problem, match=f"--resource 'gpu': no group has it; there are {GPU}"):
        Filter(resource="gpu").check(GROUPS.values())
    with pytest.raises(Problem, match="--flavor 'h100': no group has it; there are a100"):
        Filter(flavor="h100").check(GROUPS.values())
    Filter("a100", GPU).check(GROUPS.values())


def test_unknown_group_is_answered_with_the_one_that_is_meant() -> None:
    assert str(unknown_group("vison", GROUPS)) == (
        "there is no QuotaGroup 'vison'; did you mean 'vision'?; there are idle, lost, nlp, research, root, vision"
    )


def test_unknown_workload_is_answered_with_the_one_that_is_meant() -> None:
    every = [f"ns/train-{each}" for each in range(30)]
    found = str(unknown_workload("ns/tran-7", every))
    begin = (
        "there is no workload 'ns/tran-7' that names a group and has not ended; did you mean 'ns/train-7'?; there are "
    )
    assert found.startswith(f"{begin}ns/train-0, ns/train-1, ")
    assert found.endswith(" and 10 more")
    assert str(unknown_workload("ns/a", ())) == "there is no workload 'ns/a' that names a group and has not ended"


def test_sum_has_one_line_for_each_resource() -> None:
    found = [
        (each.name, each.numbers and str(each.numbers.key)) for each in rows(GROUPS, "vision", Filter(summed=True))
    ]
    assert found == [("vision", f"*/{GPU}")]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("2026-01-02T03:04:05.678901+00:00", "2026-01-02T03:04:05Z"),
        ("2026-01-02T05:04:05+02:00", "2026-01-02T03:04:05Z"),
        ("", ""),
    ],
)
def test_time_is_shown_to_the_second_with_its_zone(written: str, text: str) -> None:
    assert moment_text(written) == text
