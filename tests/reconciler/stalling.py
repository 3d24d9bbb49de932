"""`python -m tests.reconciler.stalling --config FILE`: a reconciler whose event loop stands still after SIGUSR1.

$STALL_SECONDS says for how long. It sleeps without giving the loop back, as a long computation would.
"""

import asyncio
import os
import signal
import sys
import time

from reconciler.__main__ import main
from reconciler.app import Reconciler


def stall_when_asked() -> None:
    """From the moment on that the reconciler runs."""
    run = Reconciler.run

    async def stalling(self: Reconciler) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, float(os.environ["STALL_SECONDS"]))
        await run(self)

    setattr(Reconciler, "run", stalling)  # noqa: B010


if __name__ == "__main__":
    stall_when_asked()
    sys.exit(main())
