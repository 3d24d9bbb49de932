"""Since when groups are over: the same whether computed from the beginning or from the cycle before."""

from datetime import timedelta

import pytest

from shared.quota.decide.over_since import KeysOver, OverSinceCache
from shared.quota.measure.inputs.world import OverSince
from shared.resources import FlavorResource
from tests.builders import NOW
from tests.prove.random_draw import Seeded

KEYS = tuple(FlavorResource("default", resource) for resource in ("cpu", "gpu"))


def new_cache(over: KeysOver) -> OverSinceCache:
    """Return a cache that knows nothing but what the numbers say."""
    cache = OverSinceCache()
    for name, keys in over.items():
        cache.note(name, keys)
    return cache


@pytest.mark.parametrize("number", range(20))
def test_cache_of_the_previous_cycle_does_not_change_the_result(number: int) -> None:
    dice, cache, now = Seeded(f"over {number}"), OverSinceCache(), NOW
    given: OverSince = {}
    over: KeysOver = {}
    for _ in range(30):
        changed = [f"g{place}" for place in range(6) if dice.chance(50)]
        over = {**over, **{name: KEYS[: dice.between(1, 2)] if dice.chance(50) else () for name in changed}}
        for name in changed:
            cache.note(name, over[name])
        exceptions: KeysOver = {f"g{place}": KEYS[: dice.between(0, 2)] for place in range(7) if dice.chance(20)}
        kept = cache.compute(given, exceptions, now)
        assert kept == new_cache(over).compute(given, exceptions, now)
        assert cache.keys_over.keys() == {name for name, _ in kept}
        if dice.chance(60):
            given = kept
            now += timedelta(seconds=dice.between(1, 5))
        elif dice.chance(20):
            given = dict(kept)


def test_result_follows_what_is_given_and_the_moment() -> None:
    cache = new_cache({"g": KEYS[:1]})
    first: OverSince = {("g", KEYS[0]): NOW - timedelta(seconds=9)}
    nothing: OverSince = {}
    assert cache.compute(nothing, {}, NOW) == {("g", KEYS[0]): NOW}
    assert cache.compute(first, {}, NOW) == first
    assert cache.compute(nothing, {}, NOW) == {("g", KEYS[0]): NOW}
    later = NOW + timedelta(seconds=1)
    assert cache.compute(nothing, {}, later) == {("g", KEYS[0]): later}
