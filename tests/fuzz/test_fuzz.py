"""The short form of `python -m tests.fuzz`: every flaw that it finds is printed, and the seed with it."""

import random

import pytest

from dev.controlplane.programs import binaries
from tests.fuzz.__main__ import say, show
from tests.fuzz.run import run


@pytest.mark.timeout(600)
def test_tenants_who_try_everything_stay_within_their_quota(control_plane_binaries: binaries.Binaries) -> None:
    seed = random.randrange(1 << 31)
    report = run(control_plane_binaries, seed, 15, say)
    show(report)
    assert report.flaws == [], f"python -m tests.fuzz --seed {seed}"
    assert report.starts > 5
