"""Intervals are moved by how right the latest forecasts were. docs/specification.md §9.8."""

from collections.abc import Iterable
from datetime import timedelta
from random import Random

import pytest

from shared.json_data import Json
from shared.quota.measure.accounts.run_times import MAX_WAITS, NO_RUN_TIMES, LeafRunTimes
from shared.quota.measure.accounts.waits import EndedWait, ForeseenWait
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.checks import MOST, OF_A_LEAF, foreseen_starts
from shared.quota.outlook.forecast.corrections import ENOUGH, corrected
from shared.quota.outlook.forecast.forecast import forecast_as_data
from shared.quota.outlook.outlook import Outlook
from shared.text.forecast import start_line
from tests.builders import NOW, pending, running, world
from tests.shared.quota.outlook.forecast.test_forecast import GROUPS, HOUR, lasting, moments
from tests.trees import capacity_in, tree

MILLISECOND = timedelta(milliseconds=1)


def seen(waits: Iterable[tuple[int, int]]) -> LeafRunTimes:
    found = NO_RUN_TIMES
    for of_earliest, of_latest in waits:
        found = found.after_wait(EndedWait(0, of_earliest, of_latest))
    return found


@pytest.mark.parametrize(
    ("waits", "begin", "end"),
    [
        ([(1000, 1000)] * ENOUGH, 120, 540),
        ([(500, 2000)] * ENOUGH, 30, 1140),
        ([(500, 9000), *[(2000, 1000)] * 18, (9000, 500)], 300, 540),
        ([(100, 100)] * ENOUGH, 0, 0),
        ([(9000, 500)] * ENOUGH, 900, 900),
    ],
    ids=["right", "too narrow", "one of twenty on each side", "all start at once", "the ends cross"],
)
def test_a_tenth_of_the_latest_starts_is_outside_each_end(
    waits: list[tuple[int, int]], begin: float, end: float
) -> None:
    found = corrected(timedelta(seconds=120), timedelta(seconds=540), seen(waits))
    assert found == (timedelta(seconds=begin), timedelta(seconds=end))


def test_forecasts_that_are_wrong_in_a_steady_way_come_to_be_right_in_eight_of_ten() -> None:
    """Starts are one to four times as late as the middle says, and the intervals too narrow by far."""
    dice, known, right = Random(1), NO_RUN_TIMES, list[bool]()
    for number in range(1000):
        middle = dice.randint(10, 1000)
        ends = timedelta(minutes=middle * 0.9), timedelta(minutes=middle * 1.1)
        waited = timedelta(minutes=middle * dice.uniform(1, 4))
        if number >= MAX_WAITS:
            begin, end = corrected(*ends, known)
            right.append(begin <= waited <= end)
        foreseen = ForeseenWait(0, *(each // MILLISECOND for each in ends))
        known = known.after_wait(EndedWait.of(foreseen, waited // MILLISECOND))
    assert 0.75 <= sum(right) / len(right) <= 0.85


def test_forecast_says_that_it_is_corrected_once_enough_have_come_true() -> None:
    work = [lasting(running("a", 8, "now"), HOUR), lasting(pending("a", 8, "next"), HOUR)]
    few, enough = (seen([(500, 2000)] * number) for number in (ENOUGH - 1, ENOUGH))
    before, corrected_one = (_forecast(work, each) for each in (few, enough))
    assert moments(before) == (900, 7561)
    assert moments(corrected_one) == (420, 15181)
    assert start_line(corrected_one).endswith(
        "assumes declared run times, that forecasts are as right as of late; 0 workloads of its group before it"
    )


def _forecast(work: list[Workload], known: LeafRunTimes) -> Json:
    outlook = Outlook.of(world(GROUPS, work), NOW)
    (found,) = forecast_as_data(outlook, [row.workload for row in outlook.rows], {"a": known}).values()
    return found


def test_a_few_of_each_leaf_are_forecast_without_correction() -> None:
    leaves = "".join(f"\n  g{number} 8" for number in range(50))
    work = [
        lasting(each, HOUR)
        for number in range(50)
        for each in (
            running(f"g{number}", 8, f"now-{number}"),
            *(pending(f"g{number}", 8, f"w{number}-{place}") for place in range(3)),
        )
    ]
    outlook = Outlook.of(world(f"root 400{leaves}", work), NOW)
    known = {f"g{number}": seen([(500, 2000)] * ENOUGH) for number in range(50)}
    found = foreseen_starts(outlook.after, known)
    assert sum(map(len, found.values())) == MOST
    assert max(map(len, found.values())) == OF_A_LEAF
    assert found == foreseen_starts(outlook.after, {})


def test_nothing_is_checked_where_no_forecasts_are_wanted() -> None:
    settings = QuotaSettings(capacity=capacity_in(tree(GROUPS)), forecast_steps=0)
    work = [lasting(running("a", 8, "now"), HOUR), lasting(pending("a", 8, "next"), HOUR)]
    assert foreseen_starts(Outlook.of(world(GROUPS, work, settings=settings), NOW).after, {}) == {}
