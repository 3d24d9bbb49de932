"""Durations as text, and moments that are so much later or earlier."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.durations import (
    LONGEST,
    LONGEST_TEXT,
    earlier,
    is_duration,
    later,
    read_duration,
    read_stored_duration,
    write_duration,
)

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
MOMENTS = st.sampled_from([FIRST, LAST, datetime(2026, 3, 1, tzinfo=UTC)]) | st.datetimes(timezones=st.just(UTC))
DURATIONS = st.sampled_from([timedelta(), LONGEST, timedelta.max]) | st.timedeltas(min_value=timedelta())


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0", timedelta()),
        ("250ms", timedelta(milliseconds=250)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        (LONGEST_TEXT, LONGEST),
        ("876000h1ms", None),
        ("999999999h" * 4, None),
        ("1 hour", None),
        ("-5s", None),
        ("", None),
    ],
)
def test_duration_is_read_up_to_a_hundred_years(text: str, duration: timedelta | None) -> None:
    assert read_duration(text) == duration


def test_stored_duration_above_the_longest_is_distinguished_from_no_duration() -> None:
    assert read_stored_duration("999999999h") == LONGEST + timedelta(microseconds=1)
    assert read_stored_duration("1 hour") is None
    assert (is_duration("999999999h"), is_duration("1 hour")) == (True, False)


@given(st.timedeltas(min_value=timedelta(), max_value=LONGEST))
def test_whole_milliseconds_survive_writing_and_reading(duration: timedelta) -> None:
    whole = duration - duration % timedelta(milliseconds=1)
    text = write_duration(whole)
    # Three units of nine digits each hold any duration up to the longest.
    assert read_duration(text) == whole


@given(MOMENTS, DURATIONS)
def test_no_sum_of_moment_and_duration_raises(moment: datetime, duration: timedelta) -> None:
    after, before = later(moment, duration), earlier(moment, duration)
    assert before <= moment <= after
    assert after == LAST or after - moment == duration
    assert before == FIRST or moment - before == duration
