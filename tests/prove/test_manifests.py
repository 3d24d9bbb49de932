"""A world written as manifests is the same world when it is read."""

import pytest

from tests.prove.random_draw import Seeded
from tests.prove.worlds.manifests import read_world, write_world
from tests.prove.worlds.node_sizes import with_node_sizes
from tests.prove.worlds.over_time import with_overrides
from tests.prove.worlds.pod_sets import with_several_pod_sets
from tests.prove.worlds.run_times import limited_in_time
from tests.prove.worlds.world import random_world, reordered


@pytest.mark.parametrize("seed", range(24))
def test_world_written_as_manifests_is_read_back_equal(seed: int) -> None:
    dice = Seeded(seed)
    world = with_several_pod_sets(dice, with_node_sizes(dice, random_world(dice)))
    world = with_overrides(dice, reordered(dice, limited_in_time(dice, world)))

    assert read_world(write_world(world, "what it shows")) == world
