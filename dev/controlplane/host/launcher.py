"""Runs a program that dies with the process that started it: `launcher.py PARENT_PID PROGRAM ARGUMENT...`.

Linux delivers the death signal when the *thread* that forked ends, so the parent starts this from a thread that lives
as long as itself (`processes`). The request survives the exec; a parent that died before it was made is noticed
afterwards.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    parent, program = int(argv[1]), argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"launcher: prctl(PR_SET_PDEATHSIG) failed with errno {ctypes.get_errno()}")
    if os.getppid() != parent:
        sys.exit(f"launcher: parent {parent} was gone before {program[0]} started")
    os.execv(program[0], program)  # noqa: S606  the program is to replace this process, without a shell


if __name__ == "__main__":
    main(sys.argv)
