"""Quotree's own kinds, as the chart defines them on the API server of a test."""

import re
from typing import Any, Final

from dev.controlplane.cluster import ControlPlane
from shared.api.crds.definitions import flavor_definition, quotagroup_definition, reads_quantities, with_rules

READS_QUANTITIES_SINCE: Final = 34
"""The minor version of Kubernetes; the chart's templates name it too."""


def definitions(control_plane: ControlPlane) -> list[dict[str, Any]]:
    """Both CustomResourceDefinitions, with the rules that this API server accepts."""
    made = [quotagroup_definition(), flavor_definition()]
    if minor_version(control_plane) >= READS_QUANTITIES_SINCE:
        return made
    return [with_rules(each, lambda rule: [] if reads_quantities(rule) else [rule]) for each in made]


def minor_version(control_plane: ControlPlane) -> int:
    """36 of Kubernetes 1.36."""
    found = re.match(r"\d+", control_plane.rest.request("GET", "/version")[1]["minor"])
    assert found is not None
    return int(found[0])
