"""Quotree's own kinds on the control plane that tests of the command line share."""

import json

from dev.controlplane.cluster import ControlPlane
from tests.versions import definitions, wait_until_served


def install_kinds(control_plane: ControlPlane) -> None:
    """Install them, or leave them as they are."""
    listed = {"apiVersion": "v1", "kind": "List", "items": definitions(control_plane)}
    control_plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))
    crds = ("crd/quotagroups.quotree.dev", "crd/resourceflavors.quotree.dev")
    wait_until_served(control_plane, *crds)
