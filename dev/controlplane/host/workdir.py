"""The temporary folder of one control plane, and the sweeping up after owners that were killed."""

import fcntl
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO

PREFIX = "quotree-cp-"
LOCK = "owner.lock"
YOUNG = 60.0


class Workdir:
    """A folder that is locked by its owner; the kernel drops the lock when the owner dies."""

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock: IO[str] = (self.path / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> None:
    """Remove folders whose owner is dead; one younger than a minute is left alone, it might not be locked yet."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = folder / LOCK
        try:
            if time.time() - lock.stat().st_mtime < YOUNG:
                continue
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
