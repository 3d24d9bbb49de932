"""The short form of `python -m tests.chaos`, with one seed: another one for each run is for the command.

So a change that is refused is refused for what it does, and not for what was there before.
"""

from pathlib import Path

import pytest

from dev.controlplane.programs import binaries
from tests.chaos.running.evidence import judge_again
from tests.chaos.running.run import RunOptions, run

SEED = 23271


@pytest.mark.timeout(1200)
def test_no_workload_is_lost_duplicated_or_over_admitted_under_faults(
    control_plane_binaries: binaries.Binaries, tmp_path: Path
) -> None:
    report = run(control_plane_binaries, RunOptions(SEED, jobs=40, faults=100, pace=0.2, keep=tmp_path), print)
    again = f"python -m tests.chaos --seed {SEED} --jobs 40 --faults 100 --without-jobsets"
    assert [str(flaw) for flaw in report.flaws] == [], f"{again}; the evidence is in {report.kept}"
    assert report.findings.counts["starts"] >= 40
    assert judge_again(tmp_path).counts == report.findings.counts
