"""Quotree as a contender: its chart, one webhook and one reconciler, as users have it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import yaml

from benchmarks.starting.contender import LEAVES, ROOM, Contender, leaves_of, parents
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import installed
from dev.operators import building
from dev.operators.recipe import JOBSET
from shared.api.names import API_VERSION, GROUP_LABEL
from shared.kinds.descriptor import PRESETS
from shared.resources import read_amount, write_quantity

_DEFINITION: Final = "CustomResourceDefinition"


@contextmanager
def quotree(control_plane: ControlPlane) -> Iterator[Contender]:
    """Quotree with everything on: webhook, events, statuses, metrics."""
    with _installed(control_plane, "Quotree", ()) as contender:
        yield contender


@contextmanager
def quotree_with_kinds(control_plane: ControlPlane) -> Iterator[Contender]:
    """The same, and every shipped kind is governed; JobSet's definition is there, so that its objects are watched."""
    built = building.ensure(JOBSET, control_plane.binaries, print)
    found = (each for each in yaml.safe_load_all(built.manifests.read_text()) if each)
    definitions = [{**each, "spec": _unconverted(each["spec"])} for each in found if each["kind"] == _DEFINITION]
    control_plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(definitions))
    with _installed(control_plane, "with kinds", [{"preset": name} for name in PRESETS]) as contender:
        yield contender


def _unconverted(spec: dict[str, object]) -> dict[str, object]:
    """Without the webhook of an operator that does not run."""
    return {name: value for name, value in spec.items() if name != "conversion"}


@contextmanager
def _installed(control_plane: ControlPlane, name: str, kinds: Sequence[Mapping[str, object]]) -> Iterator[Contender]:
    with installed(control_plane, kinds=kinds):
        control_plane.apply(yaml.safe_dump_all(_groups()))

        def stop(policy: str) -> None:
            patch = f'{{"spec": {{"stopPolicy": "{policy}"}}}}'
            control_plane.kubectl("patch", "quotagroup", *parents(), "--type=merge", "--patch", patch)

        yield Contender(name, GROUP_LABEL, lambda: stop("Hold"), lambda: stop("None"))


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
