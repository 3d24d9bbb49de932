"""What each process of a control plane has spent: CPU, and time in which it was ready and waited for a core.

Both are read from the kernel's account of every thread (`/proc/PID/task/TID/schedstat`), in nanoseconds.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.profile.moments import RUN

CLIENT: Final = "client"
"""This process itself."""


class Spent(NamedTuple):
    """Milliseconds."""

    cpu: float
    waited: float

    def since(self, before: "Spent") -> "Spent":
        """Return the difference."""
        return Spent(self.cpu - before.cpu, self.waited - before.waited)


def processes() -> dict[str, int]:
    """Return name → process id of this process and its children."""
    found = {CLIENT: os.getpid()}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found[_name((stat.parent / "cmdline").read_bytes().decode().split("\0"))] = int(stat.parent.name)
    return found


def _name(command: Sequence[str]) -> str:
    if command[1:2] != ["-m"]:
        return Path(command[0]).name
    module = command[3] if command[1:3] == list(RUN) else command[2]
    return module.rpartition(".")[2]


def spent(ids: Mapping[str, int]) -> dict[str, Spent]:
    """Return what each has spent so far."""
    return {name: _of_process(each) for name, each in ids.items()}


def _of_process(pid: int) -> Spent:
    cpu = waited = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            run, wait, _ = (thread / "schedstat").read_text().split()
            cpu, waited = cpu + int(run), waited + int(wait)
    return Spent(cpu / 1e6, waited / 1e6)
