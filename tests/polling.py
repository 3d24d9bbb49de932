"""How a test waits for what happens elsewhere: all ask by these pauses, and none fails at an answer that is late."""

import time
from collections.abc import Callable
from typing import TypeVar

from dev.controlplane.errors import ControlPlaneError

T = TypeVar("T")


def pause_after(passed: float) -> float:
    """How many seconds to wait before asking again, when it has not been so for so many seconds.

    The longer it takes, the less often: what asks all the time slows what it waits for.
    """
    return min(max(0.05, passed / 10), 0.5)


def first_true(ask: Callable[[], T], say: Callable[[], str], seconds: float, every: float | None = None) -> T:
    """Ask until the answer is true; return it. Fails after so many seconds with what `say()` says.

    Ask again if a loaded server does not answer in time, if a command ends with an error, and if a member that is asked
    for has not been written yet.
    """
    began = time.monotonic()
    while True:
        not_yet: Exception | None = None
        try:
            if answer := ask():
                return answer
        except (OSError, LookupError, ControlPlaneError) as error:
            not_yet = error
        passed = time.monotonic() - began
        if passed > seconds:
            raise AssertionError(say()) from not_yet
        time.sleep(pause_after(passed) if every is None else every)
