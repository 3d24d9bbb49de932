"""How a process ends is told by its exit code and its last words. Each test runs a real process."""

import asyncio
import json
import os
import signal
import socket
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HEAD = """
import asyncio, sys
from datetime import timedelta
from shared.problems import Problem
from shared.process.health import HealthSettings
from shared.process.running import Process, run_process
from shared.telemetry import configure_logging
configure_logging()
PORT = 0
"""
TAIL = """
sys.exit(run_process("quotree-test", main, health=HealthSettings("127.0.0.1", PORT), drain=timedelta(seconds=0.3)))
"""
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    words: list[str]
    logs: list[dict[str, Any]]

    def messages(self) -> list[str]:
        return [log["message"] for log in self.logs]


class Running:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self) -> str:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), 60)).decode().strip()

    async def end(self, *signals: signal.Signals) -> Ended:
        for number in signals:
            self.process.send_signal(number)
        out, err = await asyncio.wait_for(self.process.communicate(), 60)
        lines = err.decode().splitlines()
        logs = [json.loads(line) for line in lines if line.startswith("{")]
        words = [line for line in lines if not line.startswith("{")]
        assert self.process.returncode is not None
        return Ended(self.process.returncode, out.decode(), words, logs)


async def start(body: str, head: str = HEAD) -> Running:
    code = head + textwrap.dedent(body) + TAIL
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return Running(
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    )


async def test_returning_main_exits_with_success() -> None:
    running = await start("""
        async def main(process: Process) -> None:
            print(type(asyncio.get_running_loop()).__module__)
        """)
    ended = await running.end()
    assert (ended.code, ended.out, ended.words) == (0, "uvloop\n", [])
    assert ended.messages() == ["process started", "process stopping", "process ended"]


async def test_standard_event_loop_is_used_without_uvloop() -> None:
    running = await start(
        """
        async def main(process: Process) -> None:
            print(type(asyncio.get_running_loop()).__module__)
        """,
        HEAD + "sys.modules['uvloop'] = None\n",
    )
    assert (await running.end()).out == "asyncio.unix_events\n"


async def test_problem_is_one_line_with_its_exit_code() -> None:
    running = await start("""
        async def main(process: Process) -> None:
            raise Problem("kubeconfig /x does not exist: \\x1b[31mgive another")
        """)
    ended = await running.end()
    assert (ended.code, ended.words) == (
        2,
        ["quotree-test: kubeconfig /x does not exist: \\x1b[31mgive another"],
    )


async def test_internal_error_is_logged_with_its_traceback() -> None:
    running = await start("""
        async def main(process: Process) -> None:
            process.spawn(broken(), "broken")
            await asyncio.Event().wait()

        async def broken() -> None:
            1 / 0
        """)
    ended = await running.end()
    assert (ended.code, ended.words) == (1, [])
    last = ended.logs[-1]
    assert (last["level"], last["message"]) == ("critical", "process ends: our own bug")
    assert "ZeroDivisionError: division by zero" in last["exception"]


async def test_signal_drains_then_stops_then_cancels() -> None:
    running = await start("""
        async def main(process: Process) -> None:
            async def first() -> None: print("first", process.health.ready())
            async def second() -> None: print("second")
            process.on_stop(first)
            process.on_stop(second)
            print("up")
            try:
                await process.stopping.wait()
                print("asked", process.health.ready())
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.05)
                print("cancelled")
        """)
    assert await running.line() == "up"
    ended = await running.end(signal.SIGTERM)
    assert (ended.code, ended.words) == (0, [])
    unready = "{'shutdown': 'the process is stopping'}"
    assert ended.out.splitlines() == ["asked {}", "second", f"first {unready}", "cancelled"]
    assert ended.messages() == ["process started", "process stopping", "process ended"]


async def test_second_signal_ends_the_process_at_once() -> None:
    running = await start("""
        async def main(process: Process) -> None:
            async def never() -> None:
                print("stopping")
                await asyncio.Event().wait()
            process.on_stop(never)
            print("up")
            await asyncio.Event().wait()
        """)
    assert await running.line() == "up"
    running.process.send_signal(signal.SIGINT)
    assert await running.line() == "stopping"
    assert (await running.end(signal.SIGINT)).code == 128 + signal.SIGINT


async def test_occupied_port_is_reported_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        running = await start("async def main(process: Process) -> None: ...", HEAD + f"PORT = {port}\n")
        ended = await running.end()
    reason = "the port is taken by another process"
    assert (ended.code, ended.words) == (
        2,
        [f"quotree-test: cannot listen on 127.0.0.1:{port} for health: {reason}; set health.port"],
    )


@pytest.mark.parametrize("code", ["raise Problem('a')", "1 / 0"])
async def test_error_during_shutdown_is_reported(code: str) -> None:
    running = await start(f"""
        async def main(process: Process) -> None:
            print("up")
            try:
                await asyncio.Event().wait()
            finally:
                {code}
        """)
    assert await running.line() == "up"
    ended = await running.end(signal.SIGTERM)
    assert ended.code == (2 if "Problem" in code else 1)
