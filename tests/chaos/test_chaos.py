"""The short form of `python -m tests.chaos`: every flaw that it finds is printed, and the seed with it."""

import random
from pathlib import Path

import pytest

from dev.controlplane.programs import binaries
from tests.chaos.running.evidence import judge_again
from tests.chaos.running.run import RunOptions, run


@pytest.mark.timeout(900)
def test_no_workload_is_lost_duplicated_or_over_admitted_under_faults(
    control_plane_binaries: binaries.Binaries, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 31)
    report = run(control_plane_binaries, RunOptions(seed, jobs=40, faults=100, pace=0.2, keep=tmp_path), print)
    again = f"python -m tests.chaos --seed {seed} --jobs 40 --faults 100 --without-jobsets"
    assert [str(flaw) for flaw in report.flaws] == [], f"{again}; the evidence is in {report.kept}"
    assert report.findings.counts["starts"] >= 40
    assert judge_again(tmp_path).counts == report.findings.counts
