"""What a group will use over the coming day. docs/specification.md §9.8."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.measure.inputs.world import World
from shared.quota.model.in_force import DatedTree
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Override
from shared.quota.outlook.forecast.expected_use import ExpectedUse, expected_use
from shared.quota.outlook.forecast.forecast import Unforeseen
from shared.quota.outlook.outlook import Outlook
from tests.builders import NOW, after, pending, running, world
from tests.shared.quota.outlook.forecast.test_forecast import HOUR, lasting
from tests.trees import GPU, KEY, capacity_in, tree

GROUPS = "root 8\n  a 4\n  b 4"


def use(given: World, group: str = "a") -> ExpectedUse | Unforeseen | None:
    return expected_use(Outlook.of(given, NOW).after, group, KEY)


def test_use_falls_as_workloads_end_and_between_the_bounds_of_all_runs() -> None:
    found = use(world(GROUPS, [lasting(running("a", 2, f"r{each}"), 4 * HOUR) for each in range(2)]))
    assert isinstance(found, ExpectedUse)
    assert (found.times[0], found.times[-1] - NOW) == (NOW, timedelta(days=1))
    # They take 25 to 200 % of four hours.
    assert (found.least[0], found.most[0], found.least[-1], found.most[-1]) == (4, 4, 0, 0)
    assert [*found.middle] == sorted(found.middle, reverse=True)
    assert all(low <= middle <= high for low, middle, high in zip(found.least, found.middle, found.most, strict=True))
    assert found.least[8] < found.most[8]
    assert (found.is_cut, found.unknown, found.comes) == (False, 0, False)


def test_what_waits_is_used_once_there_is_room_and_a_parent_has_all_below() -> None:
    work = [lasting(running("a", 8, "now"), HOUR), lasting(pending("b", 4, "next"), 1000 * HOUR)]
    found, of_all = use(world(GROUPS, work), "b"), use(world(GROUPS, work), "root")
    assert isinstance(found, ExpectedUse)
    assert isinstance(of_all, ExpectedUse)
    assert (found.middle[-1], of_all.middle[-1]) == (4, 4)


def test_an_override_that_begins_is_in_the_picture() -> None:
    written = tree(GROUPS)
    grant = Override(after(6 * HOUR), after(400 * HOUR), quotas=(Entry("default", max={GPU: 1}),))
    dated = DatedTree.at(written.with_group(replace(written["a"], overrides=(grant,))), NOW)
    work = [lasting(running("a", 1, f"r{each}"), 100 * HOUR) for each in range(4)]
    found = use(world(GROUPS, work).with_tree(dated))
    assert isinstance(found, ExpectedUse)
    assert [*found.most[:12]] == [4] * 12
    assert found.most[-1] == 1


@pytest.mark.parametrize(
    ("known", "unknown", "expected"),
    [pytest.param(2, 2, 2, id="half of it is known"), pytest.param(1, 2, None, id="more than half is unknown")],
)
def test_there_is_no_picture_where_too_much_is_unknown(known: int, unknown: int, expected: int | None) -> None:
    found = use(world(GROUPS, [lasting(running("a", known, "known"), HOUR), running("a", unknown, "unknown")]))
    if expected is None:
        assert found is Unforeseen.RUN_TIMES_UNKNOWN
    else:
        assert isinstance(found, ExpectedUse)
        assert (found.unknown, found.middle[-1]) == (expected, expected)


@pytest.mark.parametrize(
    ("steps", "expected"), [pytest.param(9, Unforeseen.TOO_FAR, id="too few steps"), pytest.param(0, None, id="none")]
)
def test_steps_bound_how_far_it_reaches(steps: int, expected: Unforeseen | None) -> None:
    settings = QuotaSettings(capacity=capacity_in(tree(GROUPS)), forecast_steps=steps)
    work = [lasting(running("a", 8, "now"), 60), *(lasting(pending("a", 8, f"w{each}"), 60) for each in range(40))]
    assert use(world(GROUPS, work, settings=settings)) is expected
