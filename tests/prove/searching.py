"""One closed world searched for what must never happen; the answer is what was found, in words."""

from collections import Counter
from collections.abc import Iterator

from tests.prove.resting import unrest
from tests.prove.stepping import PATIENCE, Cycle, live, rests
from tests.prove.worlds import ClosedWorld
from tests.shared.quota.oracle import transgressions

MANY_EVICTIONS = 8
"""A workload evicted more often than this in a world of at most ten is taken for one that never stops moving."""


def flaws(world: ClosedWorld) -> Iterator[str]:
    """What is wrong with that world's life; each line starts with the kind of flaw."""
    evictions: Counter[str] = Counter()
    last: Cycle | None = None
    try:
        for last in live(world):
            for found in transgressions(last.snapshot, last.plan):
                yield f"cycle {last.number}: {found}"
            evictions.update(evict.workload.key for evict in last.plan.evictions)
    except Exception as problem:
        yield f"exception: {type(problem).__name__}: {problem}"
        return
    assert last is not None
    if not rests(last, world):
        yield f"endless: no rest within {PATIENCE} cycles; evictions {dict(evictions.most_common(3))}"
        return
    for key, times in evictions.items():
        if times > MANY_EVICTIONS:
            yield f"endless: {key} is evicted {times} times before rest"
    yield from (f"at rest: {found}" for found in unrest(last))
