"""Runs a program of this machine with a plain environment; its words become the error when it fails."""

import socket
import subprocess
from collections.abc import Mapping

from dev.node.errors import NodeError
from dev.node.names import PATH, SOCKET

TIMEOUT = 180.0


def run(*command: str, check: bool = True, text: str | None = None) -> str:
    """Return what the command prints. Raises NodeError with its words when `check` and it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT, env=environment(), input=text
        )
    except FileNotFoundError as error:
        raise NodeError(f"{command[0]} is not on this machine") from error
    if check and done.returncode != 0:
        raise NodeError(f"{' '.join(command)} ended with code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def ctr(*words: str, check: bool = True) -> str:
    """containerd's own client, in the namespace that the kubelet uses."""
    return run("ctr", "--address", str(SOCKET), "--namespace", "k8s.io", *words, check=check)


def listens() -> bool:
    """Return whether the node's containerd answers; another one of this machine has another socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(SOCKET))
        except OSError:
            return False
        return True


def environment() -> Mapping[str, str]:
    return {"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8"}
