"""`quotree record`: what enters the live cluster and what becomes of it, as a log for `quotree replay`.

See docs/replay.md.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from cli.read.cluster.live import ClusterProblem, LiveCluster, live_options
from cli.read.cluster.live_objects import live_manifests
from cli.read.options import read_duration
from shared.problems import Problem
from shared.recording.files import LineFile
from shared.recording.recorder import ClusterObject, ObjectRecorder
from shared.resources import QuantityError, read_amount


@live_options
@click.command("record")
@click.option(
    "-o", "--output", "path", required=True, type=click.Path(), help="The log; .gz or .zst at its end compresses it."
)
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
        with closing(LineFile(Path(path))) as file:
            recording = _Recording(file, cluster)
            try:
                with _interrupted_by_sigterm():
                    while recording.written < most and (end is None or time.monotonic() < end):
                        recording.look()
                        time.sleep(wait.total_seconds())
            except KeyboardInterrupt:
                recording.look()
    except OSError as error:
        raise Problem(f"{path} cannot be written: {error.strerror}") from error
    click.echo(f"quotree: {recording.written} bytes recorded in {path}", err=True)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """End by SIGTERM as by SIGINT, which what a script starts in the background ignores."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Recording:
    """What one command records."""

    def __init__(self, file: LineFile, cluster: LiveCluster) -> None:
        self.written = 0
        """Bytes, uncompressed."""
        self._file = file
        self._cluster = cluster
        self._recorder = ObjectRecorder()

    def look(self) -> None:
        """Write what has changed since the last look. Raises ClusterProblem if the first one fails."""
        try:
            manifests = list(live_manifests(self._cluster))
        except ClusterProblem as problem:
            if not self.written:
                raise
            click.echo(f"quotree: {problem}", err=True)
            return
        objects = (ClusterObject(each.api_version, each.kind, each.body) for each in manifests)
        text = self._recorder.look(datetime.now(UTC), objects)
        self._file.write(text)
        self.written += len(text)


def _bytes(text: str) -> int:
    try:
        found = read_amount("memory", text, up=False)
    except QuantityError as error:
        raise Problem(f"--max-size {text!r}: {error}") from error
    if found <= 0:
        raise Problem(f"--max-size {text!r} leaves nothing to record; write for example 1Gi")
    return found
