"""`python -m tests.reconciler.calendar_clock --config FILE`: a reconciler for which it is another day of the year.

$CLOCK_FILE names a file of [since, ahead] in seconds: from the real moment `since` on, its clock is `ahead`. What
Kubernetes writes of a Job's end is read by the same clock, as if the whole cluster had it.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reconciler.__main__ import main
from shared.api.core.job import Job
from tests.chaos.running.skewed_clock import skew

Steps = Sequence[tuple[float, float]]
"""(since when, by how much the clock is ahead), the earliest first."""


def ahead_at(moment: datetime, steps: Steps) -> timedelta:
    """Return by how much the clock was ahead at that real moment."""
    return timedelta(seconds=[ahead for since, ahead in steps if since <= moment.timestamp()][-1])


def read_steps() -> Steps:
    """What the file says now."""
    found: Steps = json.loads(Path(os.environ["CLOCK_FILE"]).read_text())
    return found


def move_ends() -> None:
    """Read the ends of Jobs by this clock."""
    written: Callable[[Job], datetime | None] = vars(Job)["finished_at"].fget

    def finished_at(job: Job) -> datetime | None:
        found = written(job)
        return None if found is None else found + ahead_at(found, read_steps())

    Job.finished_at = property(finished_at)  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    skew(lambda: ahead_at(datetime.now(UTC), read_steps()))
    move_ends()
    sys.exit(main())
