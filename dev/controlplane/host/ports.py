"""Which TCP ports on 127.0.0.1 one control plane owns while it lives.

Ports lie below the kernel's range for outgoing connections: a process that is stopped and restarted must find its port
free, and an outgoing connection might have taken it meanwhile. A locked file per port keeps two harnesses apart.
"""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dev.controlplane.errors import ControlPlaneError

LOWEST = 12_000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
EPHEMERAL_DEFAULT = 32_768


class Ports:
    """Ports taken for one control plane; a closed or dead owner's ports are free again."""

    def __init__(self) -> None:
        self._locks: list[IO[str]] = []

    def take(self) -> int:
        """Return a free port that no other harness has reserved."""
        for port in _candidates():
            lock = _lock(port)
            if lock is None:
                continue
            if is_free(port):
                self._locks.append(lock)
                return port
            lock.close()
        raise ControlPlaneError(f"no free TCP port on 127.0.0.1 between {LOWEST} and {_highest()}: end what uses them")

    def close(self) -> None:
        for lock in self._locks:
            lock.close()
        self._locks.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _candidates() -> Iterator[int]:
    yield from random.SystemRandom().sample(range(LOWEST, _highest()), 2_000)


def _highest() -> int:
    try:
        lowest_ephemeral = int(EPHEMERAL_RANGE.read_text().split()[0])
    except (OSError, ValueError):
        return EPHEMERAL_DEFAULT
    return lowest_ephemeral if lowest_ephemeral > LOWEST + 4_000 else EPHEMERAL_DEFAULT


def _lock(port: int) -> IO[str] | None:
    folder = Path(tempfile.gettempdir()) / f"quotree-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = (folder / str(port)).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
