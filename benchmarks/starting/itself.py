"""Quotree as a contender: its chart, one webhook and one reconciler, as users have it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import yaml

from benchmarks.starting.contender import TWENTY, Contender, Leaf, Room, by_parent
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.processes import AS_MODULE
from dev.controlplane.quotree import installed
from dev.operators import building
from dev.operators.recipe import JOBSET
from shared.api.names import API_VERSION, GROUP_LABEL
from shared.kinds.descriptor import PRESETS
from shared.resources import read_amount, write_quantity

_DEFINITION: Final = "CustomResourceDefinition"
PROGRAMS: Final = ("webhook", "reconciler")


@contextmanager
def quotree(
    control_plane: ControlPlane, leaves: Sequence[Leaf] = TWENTY, run: Sequence[str] = AS_MODULE
) -> Iterator[Contender]:
    """Quotree with everything on: webhook, events, statuses, metrics.

    `run`: what Python gets before the name of each process' module.
    """
    with _installed(control_plane, "Quotree", leaves, (), run) as contender:
        yield contender


@contextmanager
def quotree_recording(control_plane: ControlPlane) -> Iterator[Contender]:
    """The same, and the leader records."""
    recording = {"enabled": True, "folder": str(control_plane.workdir / "recording")}
    with _installed(control_plane, "recording", TWENTY, (), recording=recording) as contender:
        yield contender


@contextmanager
def quotree_with_kinds(control_plane: ControlPlane) -> Iterator[Contender]:
    """The same, and every shipped kind is governed; JobSet's definition is there, so that its objects are watched."""
    built = building.ensure(JOBSET, control_plane.binaries, print)
    found = (each for each in yaml.safe_load_all(built.manifests.read_text()) if each)
    definitions = [{**each, "spec": _unconverted(each["spec"])} for each in found if each["kind"] == _DEFINITION]
    control_plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(definitions))
    with _installed(control_plane, "with kinds", TWENTY, [{"preset": name} for name in PRESETS]) as contender:
        yield contender


def _unconverted(spec: dict[str, object]) -> dict[str, object]:
    """Without the webhook of an operator that does not run."""
    return {name: value for name, value in spec.items() if name != "conversion"}


@contextmanager
def _installed(
    control_plane: ControlPlane,
    name: str,
    leaves: Sequence[Leaf],
    kinds: Sequence[Mapping[str, object]],
    run: Sequence[str] = AS_MODULE,
    **settings: Mapping[str, object],
) -> Iterator[Contender]:
    with installed(control_plane, kinds=kinds, reconcilers=0, run=run) as running:
        running.add_reconciler(**settings)
        control_plane.apply(yaml.safe_dump_all(_groups(leaves)))

        def stop(policy: str) -> None:
            patch = f'{{"spec": {{"stopPolicy": "{policy}"}}}}'
            control_plane.kubectl("patch", "quotagroup", *by_parent(leaves), "--type=merge", "--patch", patch)

        def known() -> int:
            """Count what waits and what has started."""
            path = f"/apis/{API_VERSION}/quotagroups"
            found = [control_plane.rest.request("GET", f"{path}/{leaf.name}")[1] for leaf in leaves]
            counts = [each.get("status", {}).get("workloads", {}) for each in found]
            return sum(each.get("pending", 0) + each.get("admitted", 0) for each in counts)

        yield Contender(name, GROUP_LABEL, leaves, lambda: stop("Hold"), lambda: stop("None"), PROGRAMS, known=known)


def _groups(leaves: Sequence[Leaf]) -> list[dict[str, object]]:
    found = []
    for parent, below in by_parent(leaves).items():
        found.append(_group(parent, {"isParent": True, "quotas": [{"min": _sum(each.room for each in below)}]}))
        found += [_group(leaf.name, {"parent": parent, "quotas": [{"min": dict(leaf.room)}]}) for leaf in below]
    return found


def _sum(rooms: Iterable[Room]) -> dict[str, str]:
    total: dict[str, int] = {}
    for room in rooms:
        for resource, quantity in room.items():
            total[resource] = total.get(resource, 0) + read_amount(resource, quantity)
    return {resource: write_quantity(resource, amount) for resource, amount in total.items()}


def _group(name: str, spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}
