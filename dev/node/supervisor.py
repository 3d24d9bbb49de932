"""The process that holds a node after `make cluster` has returned, until `make cluster-down` ends it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries
from dev.node.errors import NodeError
from dev.node.machine import cleanup, owner, state
from dev.node.names import KUBECONFIG, MACHINE, STATE
from dev.node.node import Node

READY = "ready"
DOWN_TIMEOUT = 120.0


def start(image: Path, progress: Callable[[str], None]) -> None:
    """Start the supervisor and return when the node is Ready. Raises NodeError when it does not become so."""
    child = subprocess.Popen(
        [sys.executable, "-m", "dev.node", "hold", "--image", str(image)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    for line in child.stdout or ():
        if line.strip() == READY:
            return
        progress(line.rstrip())
    raise NodeError(f"the node did not come up (code {child.wait()}): see above")


def hold(image: Path) -> int:
    """Be the supervisor: bring the node up, say so, and take it down when asked to end."""
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    try:
        with Node(binaries.ensure(_say, node=True), image, _say) as node:
            KUBECONFIG.write_bytes(node.control_plane.kubeconfig.read_bytes())
            _say(READY)
            _be_silent()
            end.wait()
    except (ControlPlaneError, NodeError) as error:
        _say(f"node: {error}")
        return 1
    return 0


def down(progress: Callable[[str], None]) -> None:
    """End the supervisor, and take away what one that was killed has left. Raises NodeError when something stays."""
    pid = owner.alive()
    if pid is not None:
        progress(f"node: ending process {pid}")
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + DOWN_TIMEOUT
        while owner.alive() == pid:
            if time.monotonic() > deadline:
                raise NodeError(
                    f"process {pid} has not ended after {DOWN_TIMEOUT:.0f} s: end it with kill -9, then again"
                )
            time.sleep(0.2)
    if STATE.exists():
        progress("node: its owner was killed, removing what it left")
        before = state.load(MACHINE) if MACHINE.exists() else state.read()
        cleanup.remove_traces(before)
    progress("node: nothing of it is left")


def _say(line: str) -> None:
    print(line, flush=True)


def _be_silent() -> None:
    """Let go of the terminal's pipe: who started us goes on."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
