"""Which benchmarks there are: `python -m benchmarks [NAME…]` runs them, or all of them, one after another.

At the end one table says what was measured. A run of all writes docs/benchmarks/results.json, of which the page is
made (`python -m benchmarks.results.pages`). A run of some replaces their figures in the file that `--out` names. Some
take too long for a run of all, and are run when they are named.
`--small` runs trials, which tell nothing but that each benchmark works.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from benchmarks.results.figures import FIGURES, recorded, table
from benchmarks.results.machine import commit, conditions, load, today
from benchmarks.results.programme import ALL, BY_HAND, WHOLE, Benchmark
from benchmarks.results.results import (
    ENDED_WELL,
    OK,
    RESULTS,
    TRIAL,
    Outcome,
    Results,
    merged,
    read_results,
    write_results,
)


def main() -> int:
    """Run each in a process of its own, print the table, and return 1 when one failed."""
    every = (*ALL, *BY_HAND)
    names = [each.name for each in every]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    chosen = [each for each in every if each.name in options.names] if options.names else ALL
    results = run_all(chosen, small=options.small)
    print(f"\n{table(results.figures)}\n\n{results.summary}", flush=True)
    path = options.out or (None if options.names or options.small else RESULTS)
    if path:
        write_results(merged(read_results(path), results) if options.names and path.exists() else results, path)
        print(f"written to {path}")
    return int(any(each.end not in ENDED_WELL for each in results.outcomes))


def run_all(chosen: Sequence[Benchmark], *, small: bool) -> Results:
    """Return what was measured, also by those that failed at last."""
    with tempfile.TemporaryDirectory() as folder:
        left, until = Path(folder) / "figures", time.monotonic() + longest(chosen).total_seconds()
        outcomes = [run(each, until, left, small=small) for each in chosen]
        figures = recorded(left)
    return Results(conditions(), tuple(outcomes), tuple(figures))


def longest(chosen: Sequence[Benchmark]) -> timedelta:
    """Return how long all of them may take."""
    return WHOLE + sum((each.limit for each in chosen if each in BY_HAND), timedelta())


def run(benchmark: Benchmark, until: float, left: Path, *, small: bool) -> Outcome:
    """Run one, and end it and what it has started when its time is over, or that of the whole run."""
    words = benchmark.small if small else benchmark.words
    print(f"--- {benchmark.name} {' '.join(words)}", flush=True)
    began, busy = time.monotonic(), load()
    limit = min(benchmark.limit.total_seconds(), until - began)
    end = _run(benchmark, words, limit, left) if limit > 0 else "no time was left"
    end = TRIAL if small and end == OK else end
    return Outcome(benchmark.name, " ".join(words), commit(), today(), busy, round(time.monotonic() - began), end)


def _run(benchmark: Benchmark, words: Sequence[str], limit: float, left: Path) -> str:
    command = [sys.executable, "-m", benchmark.module, *words]
    process = subprocess.Popen(command, env={**os.environ, FIGURES: str(left)}, start_new_session=True)
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        _end(process)
        return f"not done within {limit / 60:.0f} minutes"
    except KeyboardInterrupt:
        _end(process)
        raise
    return OK if code == 0 else f"exit code {code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it, so that it stops its own control plane; kill what is left of its group."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    sys.exit(main())
