"""`quotree record`: what enters the live cluster and what becomes of it, as a log for `quotree replay`.

See docs/replay.md.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import click

from cli.read.cluster.live import ClusterProblem, LiveCluster, live_options
from cli.read.cluster.live_objects import live_manifests
from cli.read.options import read_duration
from cli.replay.object_log import ObjectLog
from cli.replay.recorder import ObjectRecorder
from shared.problems import Problem
from shared.resources import QuantityError, parse_quantity

_NANO: Final = 10**9


@live_options
@click.command("record")
@click.option("-o", "--output", "path", required=True, type=click.Path(), help="The log; .gz at its end compresses it.")
@click.option("--interval", default="5s", show_default=True, help="How often the cluster is looked at.")
@click.option("--for", "length", metavar="DURATION", help="How long to record.  [default: until it is interrupted]")
@click.option("--max-size", default="1Gi", show_default=True, help="Stop when the log, uncompressed, is so large.")
def command(path: str, interval: str, length: str | None, max_size: str, cluster: LiveCluster) -> None:
    """Record quota objects, nodes and workloads of the live cluster, and each change of them, until interrupted.

    SIGTERM interrupts it, too. A file that exists is continued. While the API server does not answer nothing is
    recorded, and recording goes on after it. A Job that comes and goes between two looks is not in the log. It needs
    the rights of `simulate --live`.
    """
    wait, most = read_duration(interval), _bytes(max_size)
    end = None if length is None else time.monotonic() + read_duration(length).total_seconds()
    try:
        with ObjectLog(path).write("at") as file:
            recorder = ObjectRecorder(file)
            try:
                with _interrupted_by_sigterm():
                    while recorder.written < most and (end is None or time.monotonic() < end):
                        _look(recorder, cluster)
                        time.sleep(wait.total_seconds())
            except KeyboardInterrupt:
                _look(recorder, cluster)
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}") from error
    click.echo(f"quotree: {recorder.written} bytes recorded in {path}", err=True)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """End by SIGTERM as by SIGINT, which what a script starts in the background ignores."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _look(recorder: ObjectRecorder, cluster: LiveCluster) -> None:
    try:
        manifests = list(live_manifests(cluster))
    except ClusterProblem as problem:
        if not recorder.written:
            raise
        click.echo(f"quotree: {problem}", err=True)
        return
    recorder.record(datetime.now(UTC), manifests)


def _bytes(text: str) -> int:
    try:
        found = parse_quantity(text) // _NANO
    except QuantityError as error:
        raise Problem(f"--max-size {text!r}: {error}") from error
    if found <= 0:
        raise Problem(f"--max-size {text!r} leaves nothing to record; write for example 1Gi")
    return found
