"""`python -m tests.chaos [--seed S] [--jobs N] [--faults N]`: ends with 0 only when nothing was found."""

import argparse
import random
import sys
import time
from pathlib import Path

from dev.controlplane import binaries
from dev.operators import building
from dev.operators.recipe import JOBSET
from tests.chaos.running.run import Report, RunOptions, run


def main() -> int:
    """Run once and print what was found."""
    options = _asked()
    print(f"chaos: seed {options.seed}, at least {options.jobs} pieces of work and {options.faults} faults", flush=True)
    programs = binaries.ensure(_say)
    if options.jobsets:
        building.ensure(JOBSET, programs, _say)
    began = time.monotonic()
    report = run(programs, options, lambda text: _say(f"{time.monotonic() - began:6.0f} s  {text}"))
    _print(report)
    print(f"seed {options.seed}: {len(report.flaws)} flaws after {time.monotonic() - began:.0f} s")
    return 1 if report.flaws else 0


def _asked() -> RunOptions:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="faults under work, and a checker")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31), help="the run's; drawn when absent")
    parser.add_argument("--jobs", type=int, default=200, help="how much work is submitted at least")
    parser.add_argument("--faults", type=int, default=1000, help="how many faults are committed at least")
    parser.add_argument("--without-jobsets", action="store_true", help="only Jobs, pods and groups of pods")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where the logs are left, the API server's with them"
    )
    given = parser.parse_args()
    jobsets = not given.without_jobsets
    return RunOptions(given.seed, given.jobs, given.faults, jobsets=jobsets, keep=given.keep)


def _say(text: str) -> None:
    print(text, flush=True)


def _print(report: Report) -> None:
    print(f"submitted: {report.submitted}; processes started again: {report.restarts}; faults: {report.faults}")
    for name, times in sorted((report.episodes + report.committed).items()):
        print(f"  {times:6}  {name}")
    print("checked:")
    for name, times in sorted(report.findings.counts.items()):
        print(f"  {times:6}  {name}")
    for flaw in report.flaws:
        print(flaw)


if __name__ == "__main__":
    sys.exit(main())
