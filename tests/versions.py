"""What differs between versions of Kubernetes: Quotree's kinds as the chart defines them there, and what is skipped."""

import re
import time
from typing import Any, Final

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.api.crds.definitions import flavor_definition, quotagroup_definition, reads_amounts, with_rules
from tests.polling import pause_after

READS_AMOUNTS_SINCE: Final = 34
"""The minor version of Kubernetes; the chart's templates name it too."""


def definitions(control_plane: ControlPlane) -> list[dict[str, Any]]:
    """Both CustomResourceDefinitions, with the rules that this API server accepts."""
    return definitions_of(minor_version(control_plane))


def definitions_of(minor: int) -> list[dict[str, Any]]:
    """The same for Kubernetes 1.`minor`."""
    made = [quotagroup_definition(), flavor_definition()]
    if minor >= READS_AMOUNTS_SINCE:
        return made
    return [with_rules(each, lambda rule: [] if reads_amounts(rule) else [rule]) for each in made]


def minor_version(control_plane: ControlPlane) -> int:
    """37 of Kubernetes 1.37."""
    found = re.match(r"\d+", control_plane.rest.request("GET", "/version")[1]["minor"])
    assert found is not None
    return int(found[0])


def skip_before(minor: int, control_plane: ControlPlane, what: str) -> None:
    """Skip the test on Kubernetes before 1.`minor`, which does not have `what`."""
    if minor_version(control_plane) < minor:
        pytest.skip(f"{what}: since Kubernetes 1.{minor}")


def wait_until_served(control_plane: ControlPlane, *crds: str) -> None:
    """Wait until the API server serves these definitions, or all that there are.

    `kubectl wait` gives up on a definition that was created a moment ago: its conditions are null.
    """
    words = ("wait", *(crds or ("crd", "--all")), "--for=condition=Established", "--timeout=90s")
    began = time.monotonic()
    while (done := control_plane.kubectl(*words, check=False)).returncode:
        passed = time.monotonic() - began
        assert passed < 90, done.stderr
        time.sleep(pause_after(passed))
