"""Answers to a tenant in random worlds, before and after evictions, name no workload of another namespace."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from reconciler.visibility.objects.groups import group_object
from reconciler.visibility.objects.naming import redacted
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import pending_object, places_of
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.workload import Workload, namespace_of
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.simulate.step import carry_out
from tests.prove.remedies import drawn
from tests.shared.quota.reference.inputs import EPOCH

CYCLES = 3


def shared_by_two(seed: int) -> World:
    """A random world in which every second workload belongs to another tenant."""
    found = drawn(seed)
    workloads = (_moved(each) for held in found.workload_sets.values() for each in held.by_id.values())
    return World.of(found.tree, found.flavors.values(), workloads, settings=found.settings)


def _moved(workload: Workload) -> Workload:
    namespace, _, number = workload.key.partition("/w")
    if namespace != "ns":
        return replace(workload, key=f"{namespace}/hidden-{number}")
    return replace(workload, key=f"other/hidden-{number}") if int(number) % 2 else workload


def texts_for_a_tenant(world: World) -> Iterator[Any]:
    outlook = Outlook.of(world, EPOCH)
    observed = ObservedPlan(outlook, leads=True)
    every = (each for held in world.workload_sets.values() for each in held.by_id.values())
    own = [each for each in every if namespace_of(each.key) == "ns"]
    yield from (redacted(outlook.as_data(outlook.explanation(each)), "ns") for each in own)
    yield from (redacted(data, "ns") for each in own[:2] for data in outlook.explained_in_steps(each))
    yield from (pending_object(observed, each) for each in places_of(observed, "ns"))
    yield from (group_object(observed, name) for name in world.tree.groups)


@pytest.mark.parametrize("seed", range(12))
def test_messages_contain_no_name_of_another_tenant(seed: int) -> None:
    world = shared_by_two(seed)
    for _ in range(CYCLES):
        assert [each for each in texts_for_a_tenant(world) if "hidden" in json.dumps(each)] == []
        world = carry_out(world, plan(measure(world, EPOCH)))
