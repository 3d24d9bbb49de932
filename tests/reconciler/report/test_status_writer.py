"""Statuses give way to starts while the API server is slow to take them."""

from datetime import timedelta

import pytest

from reconciler.report.status_writer import pause_after

INTERVAL = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("round_took", "pause"),
    [
        pytest.param(0.0, 1.0, id="nothing was written"),
        pytest.param(0.1, 1.0, id="the API server is quick"),
        pytest.param(0.3, 2.7, id="the API server is slow"),
        pytest.param(30.0, 5.0, id="thousands of groups have changed"),
    ],
)
def test_pause_follows_the_duration_of_the_status_writes(round_took: float, pause: float) -> None:
    assert pause_after(timedelta(seconds=round_took), INTERVAL) == timedelta(seconds=pause)


def test_configured_longer_interval_is_kept() -> None:
    assert pause_after(timedelta(seconds=1), timedelta(minutes=1)) == timedelta(minutes=1)
