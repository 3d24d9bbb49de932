"""What the chart renders is valid in every version of Kubernetes from the first that it supports to the newest known.

By the schemas that each version publishes, fields that a version does not have included. That the newest one accepts
them on top of that is tested with a real API server.
"""

import copy
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from kubernetes_validate import utils

from dev.controlplane.programs.binaries import Binaries
from tests.project.repository import ROOT
from tests.versions import READS_AMOUNTS_SINCE, definitions_of

CHART = ROOT / "charts" / "quotree"
FIRST = int(re.findall(r"(?m)^kubeVersion: \">=1\.(\d+)-0\"$", (CHART / "Chart.yaml").read_text())[0])
NEWEST = int(kubernetes_validate.latest_version().split(".")[1])
VERSIONS = [f"1.{minor}" for minor in range(FIRST, NEWEST + 1)]
VALUES = {
    "default": (),
    "production": ("-f", str(CHART / "values-production.yaml")),
    "certificate by cert-manager": ("--set", "webhook.certificates.source=CertManager"),
    "outside the cluster": (
        "--set",
        "webhook.deploy=false,webhook.url=https://10.0.0.7:9443,reconciler.deploy=false,aggregatedRoles.allAuthenticated=true",
    ),
}
# Kinds of others, whose schemas no version of Kubernetes has.
OF_OTHERS = {"monitoring.coreos.com/v1", "cert-manager.io/v1"}


@cache
def _rendered(helm: Path, *flags: str) -> list[dict[str, Any]]:
    command = [str(helm), "template", "quotree", str(CHART), "-n", "quotree-system", *flags]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [
        each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each and each["apiVersion"] not in OF_OTHERS
    ]


def test_the_oldest_supported_version_is_among_those_with_schemas() -> None:
    assert VERSIONS[0] == f"1.{FIRST}"
    assert len(VERSIONS) > 1


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_valid_in_every_supported_version(control_plane_binaries: Binaries, version: str) -> None:
    valid: list[dict[str, Any]] = []
    for values in VALUES.values():
        objects = _rendered(control_plane_binaries.helm, "--kube-version", version, *values)
        assert len(objects) > 10
        for each in objects:
            if each not in valid:
                kubernetes_validate.validate(each, version, strict=True)
                valid.append(each)


@pytest.mark.parametrize("version", VERSIONS)
def test_rules_that_read_quantities_are_left_out_where_the_schema_would_be_refused(
    control_plane_binaries: Binaries, version: str
) -> None:
    minor = int(version.split(".")[1])
    objects = _rendered(control_plane_binaries.helm, "--kube-version", version)
    rendered = {
        each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "CustomResourceDefinition"
    }
    assert rendered == {each["metadata"]["name"]: each["spec"] for each in definitions_of(minor)}
    assert ("MinAboveMax" in str(rendered)) == (minor >= READS_AMOUNTS_SINCE)


@pytest.mark.parametrize("version", VERSIONS)
def test_field_missing_in_a_version_is_reported(control_plane_binaries: Binaries, version: str) -> None:
    objects = _rendered(control_plane_binaries.helm)
    deployment = copy.deepcopy(next(each for each in objects if each["kind"] == "Deployment"))
    deployment["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(utils.ValidationError, match="readynessProbe"):
        kubernetes_validate.validate(deployment, version, strict=True)
