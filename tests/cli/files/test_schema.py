"""`quotree schema`: JSON Schemas by which kubeconform finds what the API server would refuse."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from cli.commands.offline import schema
from dev import kubeconform
from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs.binaries import Binaries
from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from tests.documented.documentation import blocks
from tests.project.repository import ROOT
from tests.versions import wait_until_served

NAMES = ["quotagroup_v1alpha1.json", "resourceflavor_v1alpha1.json"]
GROUP = {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": "vision"}}
FLAVOR = {"apiVersion": "quotree.dev/v1alpha1", "kind": "ResourceFlavor", "metadata": {"name": "a100"}}


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    answer = CliRunner().invoke(schema.command, ["--folder", str(folder)])
    assert (answer.exit_code, answer.output.split()) == (0, [str(folder / name) for name in NAMES])
    return folder


@pytest.fixture(scope="module")
def program(control_plane_binaries: Binaries) -> Path:
    try:
        return kubeconform.program(control_plane_binaries, lambda line: print(line, file=sys.__stderr__))
    except ControlPlaneError as error:
        pytest.skip(f"NO KUBECONFORM HERE: {error}")


@pytest.fixture(scope="module")
def api(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """An API server with the two definitions."""
    with cluster.start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as started:
        started.apply(yaml.safe_dump_all([quotagroup_definition(), flavor_definition()]))
        wait_until_served(started)
        yield started


def is_accepted(api: ControlPlane, body: object) -> bool:
    command = ("apply", "--dry-run=server", "--validate=strict", "-f", "-")
    return api.kubectl(*command, input=yaml.safe_dump(body), check=False).returncode == 0


def check(program: Path, schemas: Path, *objects: object) -> tuple[int, list[str]]:
    """The exit code, and what kubeconform says of each object that is not valid."""
    where = f"{schemas}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"
    command = [str(program), "-strict", "-output", "json", "-schema-location", where, "-"]
    done = subprocess.run(command, input=yaml.safe_dump_all(objects), capture_output=True, text=True, check=False)
    return done.returncode, [each["msg"] for each in json.loads(done.stdout)["resources"]]


def test_both_schemas_are_printed_by_file_name() -> None:
    printed = json.loads(CliRunner().invoke(schema.command, []).output)
    assert list(printed) == NAMES
    assert [each["title"] for each in printed.values()] == ["QuotaGroup", "ResourceFlavor"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = CliRunner().invoke(schema.command, ["--folder", str(tmp_path / "file" / "below")])
    assert str(answer.exception) == f"{tmp_path}/file/below cannot be written: Not a directory"


def test_kubeconform_accepts_the_examples(program: Path, schemas: Path) -> None:
    text = (ROOT / "examples/1-organisation.yaml").read_text()
    documents = [each for each in yaml.safe_load_all(text) if each]
    assert len(documents) > 3
    assert check(program, schemas, *documents) == (0, [])


def test_documented_command_checks_a_folder(program: Path, tmp_path: Path) -> None:
    lines = [line for block in blocks("docs/gitops.md") for line in block.splitlines()]
    (command,) = [line for line in lines if line.startswith("kubeconform ")]
    assert CliRunner().invoke(schema.command, ["--folder", str(tmp_path / "schemas")]).exit_code == 0
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/tree.yaml").write_text((ROOT / "examples/1-organisation.yaml").read_text())
    # The schemas of Kubernetes' own kinds are fetched from the internet: not here.
    words = shlex.split(command.replace("-schema-location default ", ""))[1:]
    done = subprocess.run([str(program), *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


REFUSED = {
    "no such field": (GROUP | {"spec": {"parrent": "research"}}, "parrent"),
    "no quantity": (GROUP | {"spec": {"quotas": [{"min": {"cpu": "four"}}]}}, "four"),
    "another type": (GROUP | {"spec": {"isParent": "yes"}}, "want boolean"),
    "no such word": (GROUP | {"spec": {"stopPolicy": "Stop"}}, "stopPolicy"),
    "no name": (FLAVOR | {"metadata": {}}, "name"),
    "a taint without a key": (FLAVOR | {"spec": {"nodeTaints": [{"effect": "NoSchedule"}]}}, "key"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_kubeconform_and_the_api_server_refuse_the_same(
    program: Path, schemas: Path, api: ControlPlane, case: str
) -> None:
    body, words = REFUSED[case]
    code, messages = check(program, schemas, body)
    assert code != 0
    assert words in messages[0]
    assert not is_accepted(api, body)


def test_kubeconform_and_the_api_server_accept_every_way_to_write_a_quantity(
    program: Path, schemas: Path, api: ControlPlane
) -> None:
    quotas = [{"min": {"cpu": 4, "memory": "1.5Gi"}, "max": {"cpu": "8000m", "memory": "2e9"}, "weight": {"cpu": 0}}]
    body = GROUP | {"spec": {"parent": "root", "quotas": quotas}}
    assert check(program, schemas, body) == (0, [])
    assert is_accepted(api, body)
