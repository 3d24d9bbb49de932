"""The short form of `python -m tests.chaos`: every flaw that it finds is printed, and the seed with it."""

import random

import pytest

from controlplane import binaries
from tests.chaos.run import Wish, run

JUDGED_BY_HINDSIGHT = frozenset({"EvictedWithoutCause"})
"""A flaw for `python -m tests.chaos`, but no reason to fail here: the cause is worked out from what was stored around
that time, which under load may lag behind what the reconciler saw."""


@pytest.mark.timeout(900)
def test_nothing_is_lost_doubled_or_over_admitted(control_plane_binaries: binaries.Binaries) -> None:
    seed = random.randrange(1 << 31)
    report = run(control_plane_binaries, Wish(seed, jobs=40, faults=100, pace=0.2), print)
    flaws = [str(flaw) for flaw in report.flaws if flaw.rule not in JUDGED_BY_HINDSIGHT]
    assert flaws == [], f"python -m tests.chaos --seed {seed} --jobs 40 --faults 100"
    assert report.findings.counts["starts"] >= 40
