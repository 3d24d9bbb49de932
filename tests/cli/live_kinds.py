"""Quotree's own kinds on the control plane that tests of the command line share."""

import json

from dev.controlplane.cluster import ControlPlane
from shared.api.crds.definitions import flavor_definition, quotagroup_definition


def install_kinds(control_plane: ControlPlane) -> None:
    """Install them, or leave them as they are."""
    definitions = {"apiVersion": "v1", "kind": "List", "items": [quotagroup_definition(), flavor_definition()]}
    control_plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(definitions))
    crds = ("crd/quotagroups.quotree.dev", "crd/resourceflavors.quotree.dev")
    control_plane.kubectl("wait", "--for=condition=Established", *crds)
