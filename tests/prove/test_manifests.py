"""A world written as manifests is the same world when it is read."""

import pytest

from tests.prove.manifests import read_world, write_world
from tests.prove.random_draw import Seeded
from tests.prove.worlds import random_world


@pytest.mark.parametrize("seed", range(12))
def test_a_world_is_read_as_it_was_written(seed: int) -> None:
    world = random_world(Seeded(seed))

    assert read_world(write_world(world, "what it shows")) == world
