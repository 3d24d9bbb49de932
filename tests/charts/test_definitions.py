"""The plan of docs/upgrade.md for a second version of the CustomResourceDefinitions, with its own commands."""

import copy
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs.binaries import Binaries
from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from tests.documented.documentation import BLOCK
from tests.project.repository import text_of
from tests.versions import wait_until_served

OLD, NEW = "v1alpha1", "v1"
MIGRATORS = ("serviceaccount-controller", "garbage-collector-controller", "storage-version-migrator-controller")
EXAMPLE = "examples/1-organisation.yaml"
Object = dict[str, Any]


@pytest.fixture
def api(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """A cluster with nothing of Quotree but the definitions, and objects that are stored in the old version."""
    with cluster.start(control_plane_binaries, controllers=MIGRATORS, scheduler=False, kwok=False) as started:
        _apply(started, {OLD: True})
        wait_until_served(started)
        started.apply(text_of(EXAMPLE))
        yield started


@pytest.mark.parametrize("way", ["kubectl replace", "StorageVersionMigration"])
def test_documented_plan_moves_every_object_from_one_version_to_the_next(api: ControlPlane, way: str) -> None:
    before = _specs(api, OLD)
    assert len(before) > 2

    _apply(api, {OLD: True, NEW: False})
    _apply(api, {OLD: False, NEW: True})
    assert _stored(api) == [OLD, NEW]
    too_early = _apply(api, {NEW: True}, check=False)
    assert f'status.storedVersions[0]: Invalid value: "{OLD}"' in too_early.stderr

    for command in _documented(way):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PATH": f"{api.binaries.kubectl.parent}:{os.environ['PATH']}",
                "KUBECONFIG": str(api.kubeconfig),
            },
        )
        assert done.returncode == 0, done.stderr
    assert _stored(api) == [NEW]
    _apply(api, {NEW: True})
    assert _specs(api, NEW) == before


def _documented(way: str) -> list[str]:
    """The commands of the plan's second step that do it in this way."""
    (block,) = [text for _, text in BLOCK.findall(_dedented()) if way in text]
    return [line.strip() for line in block.splitlines()]


def _dedented() -> str:
    return "\n".join(line.removeprefix("   ") for line in text_of("docs/upgrade.md").splitlines()) + "\n"


def _apply(api: ControlPlane, versions: dict[str, bool], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Both definitions with these versions; the one that is stored is marked."""
    definitions = [_with_versions(each, versions) for each in (quotagroup_definition(), flavor_definition())]
    words = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    return api.kubectl(*words, input=yaml.dump_all(definitions, Dumper=yaml.CSafeDumper), check=check)


def _with_versions(definition: Object, versions: dict[str, bool]) -> Object:
    (only,) = definition["spec"]["versions"]
    made = [copy.deepcopy(only) | {"name": name, "storage": stored} for name, stored in versions.items()]
    return definition | {"spec": definition["spec"] | {"versions": made}}


def _stored(api: ControlPlane) -> list[str]:
    found: list[str] = api.get("crd", "quotagroups.quotree.dev")["status"]["storedVersions"]
    return found


def _specs(api: ControlPlane, version: str) -> dict[str, Any]:
    listed = api.get(f"quotagroups.{version}.quotree.dev")["items"]
    assert {each["apiVersion"] for each in listed} == {f"quotree.dev/{version}"}
    return {each["metadata"]["name"]: each["spec"] for each in listed}
