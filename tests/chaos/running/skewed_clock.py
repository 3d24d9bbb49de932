"""`python -m tests.chaos.running.skewed_clock SECONDS --config FILE`: a reconciler whose clock is ahead by SECONDS.

In it, steps fail on Jobs that are named for them (`tests.reconciler.poisoned`).

Only what it reads as the time of day is moved: what it measures by the monotonic clock goes as fast as everywhere.
"""

import importlib
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Final

from tests.reconciler.poisoned import BEFORE_START, poison

PACKAGES: Final = ("reconciler.", "shared.kube.")


def skew(ahead: Callable[[], timedelta]) -> int:
    """Move the clock of every module of the reconciler that reads one; how many those are."""

    class Skewed(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + ahead()

    importlib.import_module("reconciler.app")
    readers = [
        module
        for name, module in sys.modules.items()
        if name.startswith(PACKAGES) and vars(module).get("datetime") is datetime
    ]
    for module in readers:
        vars(module)["datetime"] = Skewed
    return len(readers)


def main() -> int:
    """Skew and poison, then be the reconciler."""
    ahead = timedelta(seconds=float(sys.argv[1]))
    skew(lambda: ahead)
    poison(BEFORE_START)
    return int(importlib.import_module("reconciler.__main__").main(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
