"""Which process holds the node of this machine: one at a time, known by a locked file that dies with it."""

import fcntl
import os
from typing import IO

from dev.node.errors import NodeError
from dev.node.names import OWNER, STATE


def take() -> IO[str]:
    """Make the node's folder and hold it until the file is closed. Raises NodeError when another process was first."""
    try:
        STATE.mkdir(mode=0o700)
    except FileExistsError:
        raise NodeError(f"{STATE} exists: a node runs or was left behind, `make cluster-down` removes it") from None
    file = OWNER.open("w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.write(str(os.getpid()))
    file.flush()
    return file


def alive() -> int | None:
    """Return the pid of the process that holds the node; None if there is none, whatever is left of an earlier one."""
    try:
        with OWNER.open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read())
    except FileNotFoundError:
        pass
    return None
