"""Every command that README, the guides and docs/operations.md tell a reader to run works, on a real control plane.

Quotree's processes run beside the control plane, so that `helm install` of the page is done by the harness; what builds
or installs software is only checked to exist here, and is run by the tests of the image and of the real node.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
import yaml

from cli.__main__ import COMMANDS
from cli.__main__ import quotree as quotree_command
from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from shared.kinds.descriptor import (
    PRESETS,
    AbsentEntry,
    GateEntry,
    InjectEntry,
    KindEntry,
    PodSetEntry,
    PredicateEntry,
    RefuseEntry,
)
from tests.documented.documentation import blocks, commands
from tests.project.repository import ROOT

ELSEWHERE = ("docker", "helm", "make", "uv")


README = commands("README.md")
PAGES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = [page for page in PAGES if page.startswith("docs/guides/")]
MENTION = re.compile(r"(?:^|`)(?:kubectl )?quotree ([a-z][^`|\n]*)", re.MULTILINE)


@pytest.fixture(scope="module")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    """A cluster as a reader has it: one node of 4 cpu."""
    nodes = [NodeSpec("node", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})]
    with cluster.start(control_plane_binaries, nodes=nodes) as started, installed(started) as running:
        yield running


def _run(quotree: Quotree, command: str) -> str:
    done = _shell(quotree, command)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def _shell(quotree: Quotree, command: str) -> subprocess.CompletedProcess[str]:
    path = f"{quotree.commands}:{quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(quotree.cluster.kubeconfig)}
    shell = ["bash", "-euo", "pipefail", "-c", command]
    return subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


def _started(quotree: Quotree) -> list[str]:
    jobs = quotree.cluster.get("jobs")["items"]
    return sorted(job["metadata"]["name"] for job in jobs if not job["spec"]["suspend"])


def test_readme_commands_work_in_order(quotree: Quotree) -> None:
    here = [command for command in README if command.split(" ")[0] not in ELSEWHERE]
    undo = [command for command in here if command.startswith("kubectl delete")]
    printed = {command: _run(quotree, command) for command in here if command not in undo}
    assert "start default/large of vision" in printed[next(each for each in printed if "--capacity" in each)]
    assert "vision" in printed["kubectl quotree tree"]
    deadline = time.monotonic() + 240
    while _started(quotree) != ["large", "small"] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _started(quotree) == ["large", "small"]
    for command in undo:
        _run(quotree, command)
    assert _run(quotree, "kubectl get quotagroups -o name").split() == [
        f"quotagroup.quotree.dev/{name}" for name in ("default", "root", "system")
    ]


@pytest.mark.parametrize("page", ["docs/cli.md", *GUIDES])
def test_commands_of_a_page_work_in_order(quotree: Quotree, page: str) -> None:
    _run(quotree, "kubectl apply -f examples/")
    for command in commands(page):
        _run(quotree, command)


def test_what_is_recorded_is_replayed(quotree: Quotree, tmp_path: Path) -> None:
    _run(quotree, "kubectl apply -f examples/")
    record, same, other = [each for each in commands("docs/replay.md") if "last-week" in each]
    assert "--for 168h" in record
    log = tmp_path / "last-week.jsonl.gz"
    printed = [
        _run(quotree, each.replace("last-week.jsonl.gz", str(log)).replace("168h", "8s"))
        for each in (record, same, other)
    ]
    assert all("vision" in each for each in printed[1:])


def test_chart_definitions_can_be_applied_without_helm(quotree: Quotree) -> None:
    (command,) = [each for each in commands("docs/upgrade.md") if each.startswith("helm template")]
    assert _run(quotree, command).count("serverside-applied") == 2


def test_prometheus_account_can_be_bound(quotree: Quotree) -> None:
    (command,) = [each for each in commands("docs/operations.md") if "clusterrolebinding" in each]
    assert "created" in _run(quotree, command.replace("NAMESPACE:ACCOUNT", "default:prometheus"))


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_every_mentioned_command_and_option_of_quotree_exists(page: str) -> None:
    for mention in MENTION.findall((ROOT / page).read_text()):
        name, *words = mention.partition(" | ")[0].split()
        assert name in COMMANDS, mention
        given = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= _options_of(name), mention


def _options_of(name: str) -> set[str]:
    """All options of the command and of those below it."""
    found = {"-h", "--help"}
    with click.Context(quotree_command) as context:
        command = quotree_command.get_command(context, name)
    waiting = [command]
    while waiting:
        each = waiting.pop()
        assert each is not None
        found |= {option for parameter in each.params for option in (*parameter.opts, *parameter.secondary_opts)}
        waiting += each.commands.values() if isinstance(each, click.Group) else ()
    return found


def test_alert_commands_work(quotree: Quotree) -> None:
    given = commands("docs/alerts.md")
    _run(quotree, "kubectl apply -f examples/")
    assert len(given) > 5
    for command in given:
        _run(quotree, command)


def test_commands_of_the_kinds_page_print_its_output(quotree: Quotree) -> None:
    tried, simulated = commands("docs/kinds.md")
    assert [_run(quotree, tried)] == blocks("docs/kinds.md", "text")
    assert "start team/wind-tunnel of physics" in _run(quotree, simulated)


def test_kinds_page_shows_its_files_unchanged() -> None:
    sample, descriptor = blocks("docs/kinds.md", "yaml")
    files = ROOT / "docs/kinds"
    assert sample == (files / "simulation-sample.yaml").read_text()
    assert descriptor == (files / "simulation.yaml").read_text()
    (entry,) = yaml.safe_load((files / "settings.yaml").read_text())["kinds"]
    assert entry == yaml.safe_load(descriptor)


def test_kinds_page_has_every_preset_and_every_key() -> None:
    page = (ROOT / "docs/kinds.md").read_text()
    assert re.findall(r"(?m)^\| `(\w+)` \| \w+ `[\w./-]+` \|", page) == list(PRESETS)
    for struct in (KindEntry, PodSetEntry, PredicateEntry, RefuseEntry, GateEntry, AbsentEntry, InjectEntry):
        names = {field.encode_name for field in msgspec.structs.fields(struct)}
        assert {name for name in names if f"`{name}" not in page} == set()


def test_guide_shows_its_job_unchanged() -> None:
    (shown,) = blocks("docs/guides/job-author.md", "yaml")
    assert shown == (ROOT / "docs/guides/train-7.yaml").read_text()


def test_readme_shows_the_example_unchanged() -> None:
    shown = blocks("README.md", "yaml")
    example = (ROOT / "examples" / "1-organisation.yaml").read_text()
    assert [list(yaml.safe_load_all(each)) for each in shown] == [list(yaml.safe_load_all(example))]


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")), *GUIDES]
)
def test_every_make_target_of_a_page_exists(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {command.split(" ")[1] for command in commands(page) if command.startswith("make ")}
    assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()


def test_the_release_of_held_workloads_after_uninstalling_works(quotree: Quotree) -> None:
    _run(quotree, "kubectl apply -f examples/1-organisation.yaml")
    held = yaml.safe_load((ROOT / "examples" / "2-jobs.yaml").read_text().split("---")[0])
    held["metadata"] |= {"name": "held", "labels": {"quotree.dev/group": "vision", "quotree.dev/hold": "true"}}
    quotree.cluster.apply(yaml.safe_dump(held))
    quotree.close()
    quotree.cluster.helm("uninstall", "quotree", "--namespace", "quotree-system")
    (script,) = [block for block in blocks("docs/operations.md") if "schedulingGates" in block]
    deadline = time.monotonic() + 120  # the API server takes a moment to forget the policy
    while _shell(quotree, script).returncode != 0 and time.monotonic() < deadline:
        time.sleep(0.5)
    assert "held" in _started(quotree)
