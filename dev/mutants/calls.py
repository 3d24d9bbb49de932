"""Which test files call which functions of the engine, so that a mutant is tried only against tests that reach it.

`python -m dev.mutants.calls FILE` runs one test file under cProfile and prints, as JSON, the calls and the seconds.
"""

import cProfile
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

OWN_LINE = "dev.mutants.calls "
"""What the line with the result starts with; the tests print lines of their own."""


_OPTIONS = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-o", "timeout=0")
"""Under a profile a test may take longer than its time limit; who runs a mutant has one of its own."""


@dataclass(frozen=True)
class TestFile:
    """`calls`: (path, first line) of the functions that it calls; `passes`: whether it does so at all."""

    path: str
    seconds: float
    passes: bool
    calls: frozenset[tuple[str, int]]


def pytest_command(files: Iterable[str]) -> list[str]:
    """Run these files in this order until a test fails."""
    return [sys.executable, "-m", "pytest", *_OPTIONS, *files]


def trace(path: str, checkout: Path) -> TestFile:
    """Run one test file of the checkout in a process of its own."""
    command = [sys.executable, "-m", "dev.mutants.calls", path]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    line = next((each for each in done.stdout.splitlines() if each.startswith(OWN_LINE)), None)
    if line is None:
        return TestFile(path, 0, passes=False, calls=frozenset())
    found = json.loads(line.removeprefix(OWN_LINE))
    return TestFile(path, found["seconds"], found["passes"], frozenset((each[0], each[1]) for each in found["calls"]))


def _run(path: str) -> dict[str, object]:
    import pytest

    began, profile, root = time.monotonic(), cProfile.Profile(), Path.cwd()
    code = profile.runcall(pytest.main, [*_OPTIONS, path])
    codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
    calls = sorted(
        {
            (Path(each.co_filename).relative_to(root).as_posix(), each.co_firstlineno)
            for each in codes
            if each.co_filename.startswith(f"{root}/shared/quota/")
        }
    )
    return {"seconds": time.monotonic() - began, "passes": code == 0, "calls": calls}


if __name__ == "__main__":
    print(f"\n{OWN_LINE}{json.dumps(_run(sys.argv[1]))}")
