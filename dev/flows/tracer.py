"""`python -m dev.flows.tracer MODULE ARGUMENTS…`: run a process, and write down what one event calls.

A window opens with the first call of the event and closes with its last one; the calls between are written as JSON to
`$TRACE_FOLDER/FLOW.json`. The reconciler's window opens only when the file `armed` is in that folder.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PREFIX: Final = f"{ROOT}/"
REVIEWS: Final = {"/mutate/jobs": "job-review", "/validate/quotagroups": "quota-edit"}


class Tracer:
    """Records calls of the project's own functions while a window is open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._flow = ""
        self._calls: list[str] = []

    def see(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Called by the interpreter for every call and return."""
        code = frame.f_code
        if event != "call" or not is_own(code.co_filename):
            return
        name = code.co_qualname
        if not self._flow:
            self._flow = self._opened_by(code.co_name, frame)
            self._calls = []
        if self._flow and not code.co_name.startswith("<"):
            self._calls.append(f"{module_of(code.co_filename)}:{name}")
            if code.co_name in self._last_of():
                self._write()

    def _opened_by(self, name: str, frame: FrameType) -> str:
        if name == "answer":
            return REVIEWS.get(str(frame.f_locals.get("path", "")), "")
        if name == "observe_jobs" and (self._folder / "armed").exists():
            (self._folder / "armed").unlink()
            return "event-to-start"
        return ""

    def _last_of(self) -> tuple[str, ...]:
        return ("patch_json",) if self._flow == "event-to-start" else ("write_allowed", "write_denied")

    def _write(self) -> None:
        (self._folder / f"{self._flow}.json").write_text(json.dumps(self._calls))
        self._flow = ""


def is_own(filename: str) -> bool:
    """Return whether the file is the project's own, and no package that it uses."""
    return filename.startswith(PREFIX) and "/.venv/" not in filename


def module_of(filename: str) -> str:
    """Return the dotted name of the module in that file."""
    return filename.removeprefix(PREFIX).removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def main() -> None:
    """Trace the module given as the first argument."""
    sys.path.insert(0, str(ROOT))
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.setprofile(Tracer(Path(os.environ["TRACE_FOLDER"])).see)
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    main()
