"""One process of the control plane: started, watched until ready, frozen, killed, restarted, always by its own pid."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError, PortTakenError

READY_TIMEOUT = 120.0
STOP_GRACE = 10.0
POLL = 0.02
LONGEST_POLL = 0.25
LOG_TAIL = 16_384

LAUNCHER = Path(__file__).with_name("launcher.py")
AS_MODULE = ("-m",)
"""What Python gets before the name of a module that is to run by itself, under no other one."""

# PR_SET_PDEATHSIG is tied to the thread that forks: one thread of the whole process' life starts every child, so that a
# control plane started from a short-lived worker thread does not lose its processes when that thread ends.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="control-plane-spawner")


class Process:
    """A program with its log; `probe` answers whether it serves."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        probe: Callable[[], bool],
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._environment = dict(environment)
        self._probe = probe
        self._child: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    @property
    def running(self) -> bool:
        """Whether it has a live pid; a frozen process runs."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        if self._child is None or self._child.poll() is not None:
            raise ControlPlaneError(f"{self.name} is not running: start it again with restart()")
        return self._child.pid

    def launch(self) -> None:
        """Start the program and return at once; `wait_until_ready` waits for it."""
        if self.running:
            raise ControlPlaneError(f"{self.name} already runs as pid {self.pid}: stop it first")
        self._started = time.monotonic()
        self._child = _spawner.submit(self._spawn).result()

    def wait_until_ready(self, timeout: float = READY_TIMEOUT) -> None:
        """Return when the probe says yes. Raises ControlPlaneError when it ends or when `timeout` seconds pass."""
        began = time.monotonic()
        while not self._probe():
            self._check_alive()
            passed = time.monotonic() - began
            if passed > timeout:
                raise ControlPlaneError(f"{self.name} was not ready after {timeout:.0f} s; its log is {self.log}")
            # The longer it takes, the less often: each probe slows what it waits for.
            time.sleep(min(max(POLL, passed / 20), LONGEST_POLL))

    def start(self) -> None:
        self.launch()
        self.wait_until_ready()

    def stop(self, grace: float = STOP_GRACE) -> None:
        """Ask it to end, and kill it after `grace` seconds; nothing happens when it does not run."""
        self.request_stop()
        self.wait_stopped(grace)

    def request_stop(self) -> None:
        """Send the end signal without waiting; a frozen process is thawed to hear it."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def wait_stopped(self, grace: float = STOP_GRACE) -> None:
        if self._child is None:
            return
        try:
            self._child.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it as a crash would, and wait until it is gone; works on a frozen process too."""
        self._signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait()

    def freeze(self) -> None:
        """Halt it: connections stay open and nothing answers, as on a machine that hangs."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        while _state(pid) not in "TtZ":
            time.sleep(POLL)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop it if it runs, start it with the same arguments and ports, and wait until it serves."""
        self.stop()
        self.start()

    def log_tail(self) -> str:
        """Return the last lines of its log, at most 16 KiB."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_TAIL))
            return file.read().decode(errors="replace")

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal must reach us alone, so that the order of ending is ours.
            return subprocess.Popen(
                tied(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self.log.parent,
                start_new_session=True,
            )

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)

    def _check_alive(self) -> None:
        code = None if self._child is None else self._child.poll()
        if code is None:
            return
        seconds = time.monotonic() - self._started
        tail = self.log_tail()
        if "address already in use" in tail:
            raise PortTakenError(f"{self.name} found its port taken: free it or let the harness choose another")
        reason = tail.strip().splitlines()[-1] if tail.strip() else "it wrote nothing"
        raise ControlPlaneError(f"{self.name} ended with code {code} after {seconds:.1f} s: {reason}")


def tied(command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` and dies with this process; start it from a thread that lives on."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *command]


def _state(pid: int) -> str:
    """Return the one-letter state in /proc: R, S, T (stopped), Z..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
