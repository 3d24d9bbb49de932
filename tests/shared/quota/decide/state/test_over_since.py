"""Since when groups are over: the same whether computed from the beginning or from the cycle before."""

from datetime import timedelta

import pytest

from shared.quota.decide.decisions import OverSince
from shared.quota.decide.state.over_since import KeysOver, OverSinceCache
from shared.resources import FlavorResource
from tests.builders import NOW
from tests.prove.random_draw import Seeded

KEYS = tuple(FlavorResource("default", resource) for resource in ("cpu", "gpu"))


@pytest.mark.parametrize("number", range(20))
def test_what_is_kept_from_the_cycle_before_changes_nothing(number: int) -> None:
    dice, cache, now = Seeded(f"over {number}"), OverSinceCache(), NOW
    given: OverSince = {}
    for _ in range(30):
        names = [f"g{place}" for place in range(6) if dice.chance(50)]
        judged: KeysOver = {name: KEYS[: dice.between(1, 2)] for name in names}
        kept = cache.judge(given, judged, now)
        assert kept == OverSinceCache().judge(given, judged, now)
        if dice.chance(60):
            given = kept
            now += timedelta(seconds=dice.between(1, 5))
        elif dice.chance(20):
            given = dict(kept)
