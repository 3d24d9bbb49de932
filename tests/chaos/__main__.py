"""`python -m tests.chaos [--seed S] [--jobs N] [--faults N]`: ends with 0 only when nothing was found.

`python -m tests.chaos --judge FOLDER` checks again what a run has kept.
"""

import argparse
import random
import sys
import time
from datetime import timedelta
from pathlib import Path

from dev.controlplane.programs import binaries
from dev.operators import building
from dev.operators.recipe import JOBSET
from tests.chaos.judging.checker import Findings
from tests.chaos.running.cluster_setup import SKEW
from tests.chaos.running.evidence import judge_again
from tests.chaos.running.run import Report, RunOptions, run


def main() -> int:
    """Run once, or judge a run again, and print what was found."""
    given = _asked()
    return _run(_options(given)) if given.judge is None else _judge_again(given.judge)


def _judge_again(folder: Path) -> int:
    findings = judge_again(folder)
    _print_findings(findings)
    return 1 if findings.flaws else 0


def _run(options: RunOptions) -> int:
    print(f"chaos: seed {options.seed}, at least {options.jobs} pieces of work and {options.faults} faults", flush=True)
    programs = binaries.ensure(_say)
    if options.jobsets:
        building.ensure(JOBSET, programs, _say)
    began = time.monotonic()
    report = run(programs, options, lambda text: _say(f"{time.monotonic() - began:6.0f} s  {text}"))
    _print(report)
    print(f"seed {options.seed}: {len(report.flaws)} flaws after {time.monotonic() - began:.0f} s")
    if report.flaws:
        print(f"the evidence is in {report.kept}")
    return 1 if report.flaws else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="faults under work, and a checker")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31), help="the run's; drawn when absent")
    parser.add_argument("--jobs", type=int, default=200, help="how much work is submitted at least")
    parser.add_argument("--faults", type=int, default=1000, help="how many faults are committed at least")
    parser.add_argument("--without-jobsets", action="store_true", help="only Jobs, pods and groups of pods")
    parser.add_argument("--without-accounts", action="store_true", help="no count beside the accounts")
    ahead = "how many seconds the second reconciler's clock is ahead; with 0, accounts must be exact"
    parser.add_argument("--skew", type=float, default=SKEW.total_seconds(), metavar="SECONDS", help=ahead)
    kept = "where logs and history are left; absent: in a temporary folder, if anything is found"
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help=kept)
    parser.add_argument("--judge", type=Path, metavar="FOLDER", help="run nothing, check again what was left there")
    return parser.parse_args()


def _options(given: argparse.Namespace) -> RunOptions:
    jobsets = not given.without_jobsets
    accounts, skew = not given.without_accounts, timedelta(seconds=given.skew)
    return RunOptions(
        given.seed, given.jobs, given.faults, jobsets=jobsets, keep=given.keep, accounts=accounts, skew=skew
    )


def _say(text: str) -> None:
    print(text, flush=True)


def _print(report: Report) -> None:
    print(f"submitted: {report.submitted}; processes started again: {report.restarts}; faults: {report.faults}")
    for name, times in sorted((report.episodes + report.committed).items()):
        print(f"  {times:6}  {name}")
    _print_findings(report.findings)


def _print_findings(findings: Findings) -> None:
    print("checked:")
    for name, times in sorted(findings.counts.items()):
        print(f"  {times:6}  {name}")
    for flaw in findings.flaws:
        print(flaw)


if __name__ == "__main__":
    sys.exit(main())
