"""Reconcilers and webhooks without the second that each would take to import its modules: forks of one that has them.

As a program it reads one request per line, forks, and tells each fork's pid and, when that has ended, its exit code.
`Preloaded` is the test's side of it. What is run is the same `__main__` as by `python -m`.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.project.repository import ROOT

MODULES: Final = ("reconciler.app", "webhook.app", "shared.kube.connect.credentials_library", "uvloop")
PATIENCE: Final = 120.0


@dataclass(slots=True)
class Fork:
    """A process, as `subprocess.Popen` shows it."""

    server: "Preloaded"
    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        self.server.hear()
        return self.returncode

    def wait(self, timeout: float) -> int:
        """The exit code. Raises TimeoutError when it has not ended in so many seconds."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} has not ended within {timeout:g} s")
            time.sleep(0.02)
        return code

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


@dataclass(slots=True)
class Preloaded:
    """The process that forks, started when it is first needed."""

    _process: "subprocess.Popen[bytes] | None" = None
    _forks: dict[int, Fork] = field(default_factory=dict)
    _heard: bytes = b""

    def run(self, module: str, config: Path, log: Path) -> Fork:
        """Run `python -m MODULE --config CONFIG` with its output in the log, and this process' environment."""
        if self._process is None:
            command = [sys.executable, "-m", __name__]
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        # There from the start: the caller may read it before the fork has written anything.
        log.write_bytes(b"")
        request = {"module": module, "config": str(config), "log": str(log), "environment": dict(os.environ)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        while not (started := self.hear(PATIENCE)):
            pass
        return started[0]

    def hear(self, patience: float = 0) -> list[Fork]:
        """Take in what has been told, within so many seconds: who has ended; return who was started."""
        assert self._process is not None
        assert self._process.stdout is not None
        started = []
        if select.select([self._process.stdout], [], [], patience)[0]:
            message = os.read(self._process.stdout.fileno(), 1 << 16)
            assert message, "the process that forks has ended"
            *lines, self._heard = (self._heard + message).split(b"\n")
            for event in map(json.loads, lines):
                if "started" in event:
                    self._forks[event["started"]] = Fork(self, event["started"])
                    started.append(self._forks[event["started"]])
                else:
                    self._forks.pop(event["ended"]).returncode = event["code"]
        else:
            assert not patience, "the process that forks does not answer"
        return started

    def close(self) -> None:
        """End it; forks that still run are the caller's."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def launched(module: str, config: Path, log: Path, preloaded: Preloaded | None) -> "subprocess.Popen[bytes] | Fork":
    """Run `python -m MODULE --config CONFIG`: forked from what is preloaded, or without it started for itself."""
    if preloaded is not None:
        return preloaded.run(module, config, log)
    with log.open("wb") as out:
        command = [sys.executable, "-m", module, "--config", str(config)]
        return subprocess.Popen(command, stdout=out, stderr=out)


def _serve() -> None:
    for each in MODULES:
        importlib.import_module(each)
    gc.collect()
    gc.freeze()
    read, write = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write)
    pending = b""
    while True:
        ready = select.select([0, read], [], [])[0]
        if read in ready:
            os.read(read, 4096)
            _reap()
        if 0 in ready:
            heard = os.read(0, 1 << 20)
            if not heard:
                return
            *lines, pending = (pending + heard).split(b"\n")
            for line in lines:
                _fork(json.loads(line), (read, write))


def _reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _write_event(ended=pid, code=os.waitstatus_to_exitcode(status))


def _write_event(**event: int) -> None:
    os.write(1, json.dumps(event).encode() + b"\n")


def _fork(request: Mapping[str, Any], pipe: tuple[int, int]) -> None:
    pid = os.fork()
    if pid:
        _write_event(started=pid)
        return
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for each in pipe:
        os.close(each)
    null, log = os.open(os.devnull, os.O_RDONLY), os.open(request["log"], os.O_WRONLY | os.O_APPEND)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [request["module"], "--config", request["config"]]
    code: Any = 1
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _serve()
