"""What the harness' tests ask of the machine: is a process alive, did something come true."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[3]


def eventually(true: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether it came true; what cannot be asked meanwhile, or is not written yet, is not true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError, LookupError):
            if true():
                return True
        time.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    """Whether a pid exists and is more than an unreaped entry."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def program(path: Path, script: str) -> Path:
    """An executable shell script at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    return path
