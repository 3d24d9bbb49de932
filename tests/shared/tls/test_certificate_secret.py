"""How often certificate and CA bundles are checked where nothing changes."""

from datetime import timedelta

import pytest

from shared.tls.certificate_secret import pause_before_check

DAY = 24 * 60 * 60


@pytest.mark.parametrize(
    ("published", "leaf_life", "pause"),
    [
        (None, 90 * DAY, 2),
        (0, 90 * DAY, 30),
        (29, 90 * DAY, 2),
        (30, 90 * DAY, 60),
        (31, 90 * DAY, 60),
        (31, 600, 20),
        (31, 6, 2),
    ],
    ids=["not published", "new", "almost long enough", "long enough", "in peace", "short life", "very short life"],
)
def test_certificates_are_checked_once_a_minute_when_nothing_is_due(
    published: int | None, leaf_life: int, pause: int
) -> None:
    trusted = None if published is None else timedelta(seconds=published)
    found = pause_before_check(trusted, timedelta(seconds=30), timedelta(seconds=leaf_life))
    assert found == timedelta(seconds=pause)
