"""The short form of `python -m tests.fuzz`, with one seed: another one for each run is for the command."""

import pytest

from dev.controlplane.programs import binaries
from tests.fuzz.__main__ import say, show
from tests.fuzz.run import run

SEED = 271126


@pytest.mark.timeout(900)
def test_tenants_who_try_everything_stay_within_their_quota(control_plane_binaries: binaries.Binaries) -> None:
    report = run(control_plane_binaries, SEED, 15, say)
    show(report)
    assert report.flaws == [], f"python -m tests.fuzz --seed {SEED}"
    assert report.starts > 5
