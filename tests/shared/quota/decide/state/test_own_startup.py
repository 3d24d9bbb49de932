"""Start-up as the owner of one workload declares it. docs/specification.md §8.5."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.api.owner_settings import OwnStartup
from shared.quota.model.settings import BlockAdmission
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, starts

MINUTE = timedelta(minutes=1)
GROUPS = "root 8\n  a 8"
WAITS: Any = {"wait_for_pods_ready": True, "timeout": MINUTE}


def slow(own: OwnStartup) -> Workload:
    return replace(running("a", 1, "slow", ready=False), startup=own)


@pytest.mark.parametrize(
    ("own", "at", "expected"),
    [
        pytest.param(OwnStartup(), 60, ["slow StartupTimeout"], id="as its group says"),
        pytest.param(OwnStartup(timeout=2 * MINUTE), 119, [], id="longer, before"),
        pytest.param(OwnStartup(timeout=2 * MINUTE), 120, ["slow StartupTimeout"], id="longer, after"),
        pytest.param(OwnStartup(timeout=MINUTE / 2), 30, ["slow StartupTimeout"], id="shorter"),
    ],
)
def test_own_timeout_counts(own: OwnStartup, at: int, expected: list[str]) -> None:
    found = decide(GROUPS, [slow(own)], now=after(at), wait_for_pods_ready=True, timeout=MINUTE)
    assert evictions(found) == expected


def test_own_recovery_timeout_counts_where_the_group_has_none() -> None:
    work = slow(OwnStartup(recovery_timeout=MINUTE))
    assert work.admission is not None
    lost = replace(work, admission=replace(work.admission, was_ready=True, unready_since=NOW))
    early, late = (decide(GROUPS, [lost], now=after(at), wait_for_pods_ready=True, timeout=MINUTE) for at in (59, 60))
    assert (evictions(early), early.wake_at, evictions(late)) == ([], after(60), ["slow RecoveryTimeout"])


def test_own_timeout_means_nothing_where_the_group_does_not_wait_for_pods() -> None:
    assert evictions(decide(GROUPS, [slow(OwnStartup(timeout=MINUTE))], now=after(600))) == []


@pytest.mark.parametrize("block", [BlockAdmission.CLUSTER, BlockAdmission.GROUP])
@pytest.mark.parametrize("was_ready", [False, True], ids=["not ready yet", "not ready any more"])
def test_who_declares_longer_times_holds_others_back_no_longer_than_its_group(
    block: BlockAdmission, was_ready: bool
) -> None:
    """One tenant could stop all starts in the cluster for a hundred years, or where no recoveryTimeout is set."""
    own = OwnStartup() if was_ready else OwnStartup(timeout=100 * MINUTE)
    work = slow(own)
    assert work.admission is not None
    since = NOW if was_ready else None
    work = replace(work, admission=replace(work.admission, was_ready=was_ready, unready_since=since))
    early, late = (
        decide(GROUPS, [work, pending("a", 1, "next")], now=after(at), **WAITS, block_admission=block)
        for at in (59, 60)
    )
    assert (starts(early), early.wake_at) == ([], after(60))
    assert (starts(late), evictions(late)) == (["next entitled"], [])
