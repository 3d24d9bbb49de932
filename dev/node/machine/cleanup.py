"""Takes away every trace of a node, also of one whose owner was killed: by what is found, not by what is remembered."""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dev.node.commands import ctr, listens, run
from dev.node.errors import NodeError
from dev.node.machine import state
from dev.node.machine.state import Machine
from dev.node.names import BRIDGE, FOREIGN, STATE

PATIENCE = 20.0


def end_containers() -> None:
    """Kill every container, while containerd still runs to take their mounts and networks away."""
    if not listens():
        return
    for task in ctr("tasks", "list", "--quiet", check=False).split():
        ctr("tasks", "kill", "--all", "--signal", "SIGKILL", task, check=False)
    _until(lambda: not _running_tasks())
    for name in ctr("containers", "list", "--quiet", check=False).split():
        ctr("tasks", "delete", "--force", name, check=False)
        ctr("containers", "delete", name, check=False)


def remove_traces(before: Machine) -> None:
    """The machine as it was `before`, once no process of the node's owner runs. Raises NodeError with what stayed."""
    _end_processes()
    _unmount(before)
    _remove_links(before)
    for table in set(state.read().tables) - set(before.tables):
        run("nft", "delete", "table", *table.split(), check=False)
    _until(lambda: _remove_cgroups(before))
    state.restore_settings(before)
    # Last the folder with the owner's lock: `down` takes its absence for the end.
    for path in (*FOREIGN, STATE):
        if str(path) not in before.folders:
            _remove(path)
    if left := state.difference(before, state.read()):
        raise NodeError(f"the node left something behind: {left}")


def _running_tasks() -> bool:
    return " RUNNING" in ctr("tasks", "list", check=False)


def _end_processes() -> None:
    """Shims outlive containerd; they and all that was started for this node go by their pids."""

    def none_left() -> bool:
        found = [*(pid for pid, _ in state.node_processes()), *_contained()]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not found

    _until(none_left)


def _contained() -> Iterator[int]:
    """Yield what runs in containers whose shim is gone."""
    for cgroup in state.read().cgroups:
        if "/k8s.io/" in cgroup:
            with contextlib.suppress(OSError):
                yield from map(int, (Path(cgroup) / "cgroup.procs").read_text().split())


def _unmount(before: Machine) -> None:
    """Deepest first; what a process of a dead container still holds goes when it does."""
    for _ in range(3):
        left = [mount for mount in state.read().mounts if mount not in before.mounts]
        for mount in sorted(left, key=len, reverse=True):
            run("umount", "--lazy", mount, check=False)
        if not left:
            return


def _remove_links(before: Machine) -> None:
    """The bridge and the pods' ends that hang on it; those of dead network namespaces vanish by themselves."""
    members = Path("/sys/class/net") / BRIDGE / "brif"
    for name in [path.name for path in members.iterdir()] if members.is_dir() else []:
        run("ip", "link", "delete", name, check=False)
    if BRIDGE not in before.links:
        run("ip", "link", "delete", BRIDGE, check=False)


def _remove_cgroups(before: Machine) -> bool:
    """Return whether none is left; a control group can be removed once its last process has been reaped."""
    new = sorted(set(state.read().cgroups) - set(before.cgroups), key=len, reverse=True)
    for path in new:
        try:
            Path(path).rmdir()
        except OSError:
            continue
    return not any(Path(path).exists() for path in new)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < deadline:
        time.sleep(0.1)
