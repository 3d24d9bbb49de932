"""Which measurements there are: `python -m benchmarks [NAME…]` runs them, or all of them, one after another."""

import argparse
import subprocess
import sys
from typing import Final

MEASUREMENTS: Final = (
    "measuring",
    "accounts",
    "cold_start",
    "plan_cost",
    "webhook_reviews",
    "job_create",
    "edits",
    "rolling_restart",
    "large_objects",
    "floods",
    "starts",
    "reclaims",
    "listing",
    "full_start",
    "footprint",
    "kind_reading",
    "visibility_queries",
    "forecasts",
    "replay",
)
_ROOMS: Final = {
    "webhook_reviews": "webhook.reviews",
    "job_create": "webhook.job_create",
    "edits": "webhook.edits",
    "rolling_restart": "webhook.rolling_restart",
    "large_objects": "objects.large_objects",
    "floods": "objects.floods",
    "listing": "objects.listing",
    "kind_reading": "objects.kind_reading",
}
"""name → module, of those in a room."""


def main() -> int:
    """Run each in a process of its own; 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)}")
    chosen = parser.parse_args().names or MEASUREMENTS
    if unknown := set(chosen) - set(MEASUREMENTS):
        parser.error(f"unknown measurement {', '.join(sorted(unknown))}: there are {', '.join(MEASUREMENTS)}")
    failed = False
    for name in chosen:
        print(f"--- {name}", flush=True)
        module = f"benchmarks.{_ROOMS.get(name, name)}"
        failed |= subprocess.run([sys.executable, "-m", module], check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
