"""What is kept after a step has failed, wherever that was: the next plan is the one made from scratch."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from types import FrameType
from typing import Any

import pytest

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from tests.builders import NOW, pending, world
from tests.prove.random_draw import Seeded
from tests.shared.quota.decide.state.test_cycle_cache import planned, random_engine_world, written

MOST_CALLS = 1_500


class Fault(Exception):
    """A bug."""


@contextmanager
def failing_at(call: int) -> Iterator[None]:
    """Let this call of a function of the engine fail."""
    left = call

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR  # Closing one counts as a call.
        if event == "call" and not is_generator and "/shared/quota/" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                raise Fault

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def after_a_fault(given: World, now: datetime, last: Snapshot, cache: CycleCache, call: int) -> CycleCache:
    """Return what is kept of a cycle that fails at this call."""
    with suppress(Fault), failing_at(call):
        plan(measure(given, now, last), cache)
    return cache.as_of(last)


@pytest.mark.parametrize("number", range(20))
def test_plan_after_a_fault_in_any_step_is_the_one_from_scratch(number: int) -> None:
    dice = Seeded(f"fault {number}")
    given, cache, last, now = random_engine_world(f"fault {number}"), CycleCache(), None, NOW
    for _ in range(12):
        if last is not None:
            for _ in range(3):
                cache = after_a_fault(given, now, last, cache, dice.between(1, MOST_CALLS))
        last, kept = planned(given, now, last, cache)
        given, now = _after_an_arrival(written(given, kept, dice), dice), now + timedelta(seconds=10)


def _after_an_arrival(given: World, dice: Any) -> World:
    waiting = sorted(
        (each for found in given.workload_sets.values() for each in found.queue), key=lambda each: each.key
    )
    if not waiting or dice.chance(40):
        return given
    like = dice.one_of(waiting)
    new = pending(like.group, like.request, f"new-{dice.between(0, 10**9)}", priority=like.priority)
    return given.with_changes([(dice.one_of(waiting), None), (None, new)])


def test_classes_are_kept_of_what_waited_and_not_of_what_is_new() -> None:
    known, new = pending("a", 1, "known"), pending("a", 2, "new")
    before = world("root 0\n  a 4\n  b 4", [known, pending("b", 1, "other")])
    cache = CycleCache()
    last = measure(before, NOW)
    plan(last, cache)
    record, classes = cache.leaves["b"], cache.leaves["a"].classes
    plan(measure(before.with_changes([(None, new)]), NOW, last), cache)
    found = cache.as_of(last)
    assert found.leaves["b"] is record
    assert found.leaves["a"].classes.known.by_workload == {id(known): classes.class_of(known)}
