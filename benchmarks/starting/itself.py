"""Quotree as a contender: its chart, one webhook and one reconciler, as users have it."""

from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from benchmarks.starting.contender import LEAVES, ROOM, Contender, leaves_of, parents
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import installed
from shared.api.names import API_VERSION, GROUP_LABEL
from shared.resources import read_amount, write_quantity


@contextmanager
def quotree(control_plane: ControlPlane) -> Iterator[Contender]:
    """Quotree with everything on: webhook, events, statuses, metrics."""
    with installed(control_plane):
        control_plane.apply(yaml.safe_dump_all(_groups()))

        def stop(policy: str) -> None:
            patch = f'{{"spec": {{"stopPolicy": "{policy}"}}}}'
            control_plane.kubectl("patch", "quotagroup", *parents(), "--type=merge", "--patch", patch)

        yield Contender("Quotree", GROUP_LABEL, lambda: stop("Hold"), lambda: stop("None"))


def _groups() -> list[dict[str, object]]:
    whole = {
        resource: write_quantity(resource, LEAVES * read_amount(resource, each)) for resource, each in ROOM.items()
    }
    found = []
    for parent in parents():
        found.append(_group(parent, {"isParent": True, "quotas": [{"min": whole}]}))
        found += [_group(leaf, {"parent": parent, "quotas": [{"min": ROOM}]}) for leaf in leaves_of(parent)]
    return found


def _group(name: str, spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}
