"""The condition HasNodes: of flavors, and of the groups whose quota is in them."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from reconciler.report.status.flavors import (
    FlavorStatusWriter,
    flavors_without_nodes,
    nodes_of_flavor,
    nodes_of_group,
)
from shared.api.flavor import ResourceFlavor, ResourceFlavorStatus
from shared.kube.client import Client
from shared.kube.errors import Unavailable
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from tests.builders import NOW, world

NODE = ({"cpu": 4000},)
FLAVORS = {
    "default": Flavor("default", uid="1"),
    "spot": Flavor("spot", {"node-type": "spot"}, uid="2"),
    "std": Flavor("std", uid="3"),
}


def snapshot(**largest: tuple[dict[str, int], ...]) -> Snapshot:
    drawn = world("root 8\n  a default:cpu 4 spot:cpu 2\n  b std:cpu 4\n  c default:cpu 1")
    return measure(replace(drawn, flavors=FLAVORS, largest_nodes=largest), NOW)


def test_group_names_each_flavor_of_its_own_that_has_no_nodes() -> None:
    seen = snapshot(default=NODE, spot=(), std=())
    empty = flavors_without_nodes(seen)
    found = {name: nodes_of_group(name, seen, empty) for name in ("a", "b", "c")}
    assert {name: (each.status, each.reason, each.message) for name, each in found.items()} == {
        "a": ("False", "FlavorWithoutNodes", "spot: no ready node has its nodeLabels and counts for it"),
        "b": (
            "False",
            "FlavorWithoutNodes",
            "std: a node counts for one flavor, and all that could be of std count for default",
        ),
        "c": ("True", "NodesFound", ""),
    }


def test_there_is_no_condition_where_nodes_do_not_decide() -> None:
    seen = snapshot()
    assert nodes_of_group("a", seen, flavors_without_nodes(seen)).status == "Unknown"
    assert nodes_of_flavor("spot", seen, {}) is None


class Stored:
    """Flavors as an API server has them; the next write can fail."""

    def __init__(self) -> None:
        self.flavors: dict[str, ResourceFlavor] = {name: ResourceFlavor() for name in FLAVORS}
        self.writes: list[str] = []
        self.fails = False

    async def get(self, _resource: object, name: str, **_: object) -> ResourceFlavor:
        return self.flavors[name]

    async def patch_json(self, _resource: object, name: str, operations: list[Any], **_: str) -> None:
        if self.fails:
            raise Unavailable(0, "Timeout", "no answer in time")
        self.writes.append(name)
        status: ResourceFlavorStatus = operations[-1]["value"]
        self.flavors[name] = ResourceFlavor(status=status)

    def seen(self, name: str) -> tuple[str, datetime | None]:
        (condition,) = self.flavors[name].status.conditions
        return condition.status, condition.last_transition_time


async def test_flavors_are_written_when_they_change_and_a_new_leader_keeps_the_times() -> None:
    stored, later = Stored(), NOW + timedelta(hours=1)
    client = cast("Client", stored)
    assert await FlavorStatusWriter(client).write(snapshot(default=NODE, spot=()), NOW) == 2
    writer = FlavorStatusWriter(client)
    assert await writer.write(snapshot(default=NODE, spot=()), later) == 0
    assert (stored.seen("spot"), stored.seen("default")) == (("False", NOW), ("True", NOW))
    assert await writer.write(snapshot(default=NODE, spot=NODE), later) == 1
    assert (stored.seen("spot"), stored.writes) == (("True", later), ["default", "spot", "spot"])


async def test_write_that_failed_is_tried_again() -> None:
    stored = Stored()
    writer = FlavorStatusWriter(cast("Client", stored))
    stored.fails = True
    with pytest.raises(Unavailable):
        await writer.write(snapshot(default=NODE), NOW)
    stored.fails = False
    assert await writer.write(snapshot(default=NODE), NOW) == 1
