"""Counts what the engine calls, so that tests bound costs without measuring time."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

ENGINE: Final = f"{Path(__file__).parents[5]}/shared/quota/"


@contextmanager
def counted_calls() -> Iterator[list[str]]:
    """The file of each function of the engine that is called, or goes on as a generator, meanwhile.

    No garbage is collected meanwhile: generators that other tests left would go on, to end.
    """
    calls: list[str] = []

    def trace(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code.co_filename.startswith(ENGINE):
            calls.append(frame.f_code.co_filename)

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(trace)
    try:
        yield calls
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
