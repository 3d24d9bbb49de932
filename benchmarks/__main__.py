"""Which measurements there are: `python -m benchmarks` runs them all, one after another."""

import subprocess
import sys

MEASUREMENTS = ("measuring", "webhook_reviews", "job_create", "edits", "rolling_restart")


def main() -> int:
    """Run each in a process of its own; the number of those that failed."""
    failed = 0
    for name in MEASUREMENTS:
        print(f"--- {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
