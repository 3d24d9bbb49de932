"""One process: started, frozen, killed, and gone with the process that started it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dev.controlplane.errors import ControlPlaneError, PortTakenError
from dev.controlplane.host.processes import Process
from tests.dev.controlplane.programs import ROOT, alive, eventually

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
OBEDIENT = "import time; print('up', flush=True); time.sleep(600)"


def process(folder: Path, program: str) -> Process:
    log = folder / "log"
    return Process(
        "sample",
        [sys.executable, "-c", program],
        log=log,
        environment=dict(os.environ),
        probe=lambda: log.exists() and "up" in log.read_text(),
    )


@contextmanager
def started(folder: Path, program: str) -> Iterator[Process]:
    sample = process(folder, program)
    sample.start()
    try:
        yield sample
    finally:
        sample.kill()


def test_a_stopped_process_is_gone(tmp_path: Path) -> None:
    with started(tmp_path, OBEDIENT) as sample:
        pid = sample.pid
        sample.stop()
        assert (sample.running, alive(pid)) == (False, False)


def test_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, STUBBORN) as sample:
        pid = sample.pid
        sample.stop(grace=0.2)
        assert (sample.running, alive(pid)) == (False, False)


def test_a_frozen_process_can_be_stopped(tmp_path: Path) -> None:
    with started(tmp_path, OBEDIENT) as sample:
        pid = sample.pid
        sample.freeze()
        sample.stop(grace=5)
        assert not alive(pid)


def test_frozen_process_does_nothing_until_resumed(tmp_path: Path) -> None:
    ticking = "import time; print('up', flush=True)\nwhile True: print('.', end='', flush=True); time.sleep(0.01)"
    with started(tmp_path, ticking) as sample:
        sample.freeze()
        size = sample.log.stat().st_size
        time.sleep(0.2)
        assert sample.log.stat().st_size == size
        sample.thaw()
        assert eventually(lambda: sample.log.stat().st_size > size)


def test_a_restarted_process_has_another_pid_and_the_same_log(tmp_path: Path) -> None:
    with started(tmp_path, OBEDIENT) as sample:
        before = sample.pid
        sample.restart()
        assert sample.pid != before
        assert eventually(lambda: sample.log.read_text() == "up\nup\n")


def test_a_running_process_is_not_started_twice(tmp_path: Path) -> None:
    with started(tmp_path, OBEDIENT) as sample, pytest.raises(ControlPlaneError, match="stop it first"):
        sample.launch()


def test_the_pid_of_a_process_that_ended_is_refused(tmp_path: Path) -> None:
    with started(tmp_path, OBEDIENT) as sample:
        sample.kill()
        with pytest.raises(ControlPlaneError, match="sample is not running"):
            _ = sample.pid


def test_process_that_exits_at_once_is_reported_with_its_last_output(tmp_path: Path) -> None:
    sample = process(tmp_path, "import sys; print('first'); sys.exit('no such flag: --bogus')")
    with pytest.raises(ControlPlaneError, match=r"sample ended with code 1 after \d\.\d s: no such flag: --bogus"):
        sample.start()


def test_occupied_port_is_distinguished_from_other_failures(tmp_path: Path) -> None:
    sample = process(tmp_path, "import sys; sys.exit('listen tcp 127.0.0.1:80: bind: address already in use')")
    with pytest.raises(PortTakenError, match="sample found its port taken"):
        sample.start()


def test_a_process_that_never_serves_is_reported_after_the_timeout(tmp_path: Path) -> None:
    sample = process(tmp_path, "import time; time.sleep(600)")
    sample.launch()
    try:
        with pytest.raises(ControlPlaneError, match="sample was not ready after 0 s; its log is"):
            sample.wait_until_ready(timeout=0.3)
    finally:
        sample.kill()


def test_a_process_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    sample = process(tmp_path, OBEDIENT)
    thread = threading.Thread(target=sample.start)
    thread.start()
    thread.join()
    try:
        time.sleep(0.3)
        assert sample.running
    finally:
        sample.kill()


def test_a_process_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, time\n"
        "from dev.controlplane.host.processes import Process\n"
        f"p = Process('sample', ['/bin/sleep', '600'], log=pathlib.Path({str(tmp_path / 'log')!r}),\n"
        "            environment=dict(os.environ), probe=lambda: True)\n"
        "p.start(); time.sleep(0.3); print(p.pid, flush=True); time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert eventually(lambda: not alive(pid))


def test_a_program_whose_parent_is_already_gone_never_starts(tmp_path: Path) -> None:
    launcher = ROOT / "dev" / "controlplane" / "host" / "launcher.py"
    other_user = os.getppid()
    done = subprocess.run(
        [sys.executable, "-I", "-S", launcher, str(other_user), "/bin/touch", str(tmp_path / "started")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f"launcher: parent {other_user} was gone before /bin/touch started"
    assert not (tmp_path / "started").exists()


def test_ctrl_c_in_the_terminal_does_not_reach_the_process(tmp_path: Path) -> None:
    with started(tmp_path, OBEDIENT) as sample:
        assert os.getpgid(sample.pid) != os.getpgid(0)
        assert os.getsid(sample.pid) != os.getsid(0)
