"""Start-up as the owner of one workload declares it. docs/specification.md §8.5."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.owner_settings import OwnStartup
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, running
from tests.shared.quota.decide.plan_words import decide, evictions

MINUTE = timedelta(minutes=1)
GROUPS = "root 8\n  a 8"


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
