"""Who is shown as one that could be recycled is whom the search for victims can return, in random worlds."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.holders import Waiting, holders_of
from shared.resources import FlavorResource
from tests.prove.random_draw import Seeded
from tests.prove.rest.stepping import live
from tests.prove.worlds.world import random_world

CAN_GO = ("", "Notice", "NotAnswered")
"""Why a victim that was found stays for a moment is decided after the search."""


def waits_and_keys(snapshot: Snapshot) -> Iterator[tuple[Workload, FlavorResource]]:
    for leaf in snapshot.leaves.values():
        for workload in leaf.pending:
            yield from ((workload, key) for key in sorted(snapshot.capacity))


def is_within_min(usage: RoundUsage, group: str, key: FlavorResource, workload: Workload) -> bool:
    """Whether a min needs the room: then what turns keep for others is no reason to stay."""
    asked = workload.request.get(key.resource, 0)
    return usage.planned.charge(group, key) + asked <= usage.planned.charges[key].numbers[group].min


def searched(usage: RoundUsage, workload: Workload, key: FlavorResource) -> list[Workload | None]:
    """The victim below each group above the workload's leaf, from its parent up."""
    path = usage.leaf(workload.group).path
    search = VictimSearch(usage, EvictionDelays(usage.snapshot.world.over_since, ignored=False))
    steps = ((below, group, is_within_min(usage, below, key, workload)) for below, group in pairwise(path))
    found = (search.in_branches(group, below, key, for_min=for_min) for below, group, for_min in steps)
    return [each[0].workload if each else None for each in found]


def shown(usage: RoundUsage, workload: Workload, key: FlavorResource) -> list[set[str]]:
    """Those that could go, below each group above the workload's leaf, outside the branch that it is in."""
    path, found = usage.leaf(workload.group).path, []
    for below, group in pairwise(path):
        inside = set(usage.snapshot.world.tree.leaves_below(below))
        holders = holders_of(usage, group, key, Waiting(workload, entitled=True))
        outside = (each for each in holders if each.workload.group not in inside)
        found.append({each.workload.key for each in outside if each.because in CAN_GO})
    return found


@pytest.mark.parametrize("seed", range(40))
def test_holder_is_recyclable_exactly_where_the_search_returns_it(seed: int) -> None:
    for cycle in live(random_world(Seeded(f"holders/{seed}"))):
        for workload, key in waits_and_keys(cycle.snapshot):
            usage = RoundUsage(cycle.snapshot, cycle.snapshot.leaves)
            victims, holders = searched(usage, workload, key), shown(usage, workload, key)
            assert [each is not None for each in victims] == [bool(each) for each in holders]
            assert all(each is None or each.key in names for each, names in zip(victims, holders, strict=True))
