"""A new release gets the strict defaults; an upgraded one keeps what it had: by the real helm, on a real API server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs import binaries
from tests.charts.rendering import CHART

KEYS = ("openGroups", "unlabelledNamespaces")
Quota = dict[str, Any]


@pytest.fixture(scope="module")
def api_server(control_plane_binaries: binaries.Binaries) -> Iterator[ControlPlane]:
    with cluster.start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as control_plane:
        yield control_plane


@pytest.fixture
def bare(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """Without any release afterwards: some names are the same for all."""
    yield api_server
    for each in yaml.safe_load(api_server.helm("list", "-A", "-o", "yaml").stdout):
        api_server.helm("uninstall", each["name"], "-n", each["namespace"])


def helm(bare: ControlPlane, namespace: str, verb: str, *values: str) -> None:
    """Install or upgrade without waiting: nothing runs pods here."""
    flags = [
        word for each in ("crds.enabled=false", f"fullnameOverride={namespace}", *values) for word in ("--set", each)
    ]
    done = bare.helm(verb, "quotree", str(CHART), "-n", namespace, "--create-namespace", *flags)
    assert done.returncode == 0, done.stderr


def quota(bare: ControlPlane, namespace: str) -> Quota:
    """What both processes read."""
    found = []
    for component in ("webhook", "reconciler"):
        settings = bare.get("configmap", f"{namespace}-{component}", "-n", namespace)["data"][f"{component}.yaml"]
        found.append(yaml.safe_load(settings)["quota"])
    assert found[0] == found[1]
    return {**{key: found[0].get(key) for key in KEYS}, "longest": found[0]["reclaim"].get("maxTerminationGracePeriod")}


STRICT = {"openGroups": False, "unlabelledNamespaces": "Deny", "longest": "5m"}
OPEN = {"openGroups": True, "unlabelledNamespaces": "Allow", "longest": None}


def test_new_release_is_strict_and_stays_so(bare: ControlPlane) -> None:
    helm(bare, "fresh", "install")
    assert quota(bare, "fresh") == STRICT
    helm(bare, "fresh", "upgrade")
    assert quota(bare, "fresh") == STRICT


def test_release_of_a_version_without_these_defaults_keeps_what_it_had(bare: ControlPlane) -> None:
    helm(bare, "older", "install")
    for component in ("webhook", "reconciler"):
        written = bare.get("configmap", f"older-{component}", "-n", "older")["data"][f"{component}.yaml"]
        settings = yaml.safe_load(written)
        settings["quota"]["openGroups"] = True
        del settings["quota"]["unlabelledNamespaces"], settings["quota"]["reclaim"]["maxTerminationGracePeriod"]
        patch = json.dumps({"data": {f"{component}.yaml": yaml.safe_dump(settings)}})
        bare.kubectl("patch", "configmap", f"older-{component}", "-n", "older", "--type=merge", "-p", patch)
    helm(bare, "older", "upgrade")
    assert quota(bare, "older") == OPEN
    helm(bare, "older", "upgrade")
    assert quota(bare, "older") == OPEN


def test_explicit_values_decide_and_outlast_their_removal(bare: ControlPlane) -> None:
    helm(bare, "chosen", "install", "quota.openGroups=true", "quota.reclaim.maxTerminationGracePeriod=1h")
    assert quota(bare, "chosen") == {**STRICT, "openGroups": True, "longest": "1h"}
    helm(bare, "chosen", "upgrade", "quota.unlabelledNamespaces=Allow")
    assert quota(bare, "chosen") == {**OPEN, "longest": "1h"}
    helm(bare, "chosen", "upgrade", "quota.openGroups=false")
    assert quota(bare, "chosen")["openGroups"] is False
