"""`python -m tests.reconciler.stepping --config FILE`: a reconciler whose clock is ahead by what a file says.

$CLOCK_FILE names the file, which holds seconds. Whenever it is written, the clock steps.
"""

import os
import sys
from datetime import timedelta
from pathlib import Path

from reconciler.__main__ import main
from tests.chaos.running.skewed_clock import skew


def ahead() -> timedelta:
    """What the file says now."""
    return timedelta(seconds=float(Path(os.environ["CLOCK_FILE"]).read_text()))


if __name__ == "__main__":
    skew(ahead)
    sys.exit(main())
