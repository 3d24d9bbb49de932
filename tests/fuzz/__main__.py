"""`python -m tests.fuzz [--seed N] [--minutes M] [--keep FOLDER]`: ends with 0 only when nothing was found."""

import argparse
import random
import sys
from pathlib import Path

from dev.controlplane.programs import binaries
from tests.fuzz.run import Report, run


def main() -> int:
    """Run once and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="tenants who try everything, and a judge")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31), help="the run's; drawn when absent")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the tenants act")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where logs and the tenants' requests are left")
    options = parser.parse_args()
    print(f"fuzz: seed {options.seed}, {options.minutes:g} minutes", flush=True)
    report = run(binaries.ensure(say), options.seed, options.minutes * 60, say, keep=options.keep)
    show(report)
    print(f"seed {options.seed}: {len(report.flaws)} flaws")
    return 1 if report.flaws else 0


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def show(report: Report) -> None:
    """What was tried, and what was found."""
    for (what, status), times in sorted(report.tried.items()):
        print(f"  {times:6}  {status}  {what}")
    print(f"{report.starts} starts, {report.evictions} evictions", *report.figures, *report.flaws, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
