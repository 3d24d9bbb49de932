"""What is in force in a group: stop policies and settings come down the tree, the nearest word counts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.model.lifecycle import RunTimeLimit, reclaim_in_force, run_end, startup_in_force, stop_in_force
from shared.quota.model.settings import (
    BlockAdmission,
    GroupMaxima,
    QuotaSettings,
    ReclaimMaxima,
    ReclaimMode,
    ReclaimSettings,
    StartupMaxima,
    StartupSettings,
)
from shared.quota.model.tree import Group, ReclaimOverrides, StartupOverrides, StopPolicy
from tests.builders import NOW, after, running
from tests.trees import tree


@pytest.mark.parametrize(
    ("text", "policy", "by"),
    [
        ("p\n a", StopPolicy.NONE, "a"),
        ("p hold\n a", StopPolicy.HOLD, "p"),
        ("p\n a close", StopPolicy.CLOSE, "a"),
        ("p hold\n a close", StopPolicy.HOLD, "p"),
        ("p close\n a hold", StopPolicy.HOLD, "a"),
        ("root drain\n p hold\n  a hold", StopPolicy.HOLD_AND_DRAIN, "root"),
        ("p hold\n a hold", StopPolicy.HOLD, "a"),
    ],
    ids=str,
)
def test_strictest_stop_policy_on_the_path_applies(text: str, policy: StopPolicy, by: str) -> None:
    found = tree(text)
    assert stop_in_force([found[name] for name in found.path("a")]) == (policy, by)


def test_policy_of_a_child_applies_again_when_its_parent_is_opened() -> None:
    closed = tree("p hold\n a close")
    opened = closed.with_group(replace(closed["p"], stop_policy=StopPolicy.NONE))
    assert stop_in_force([opened[name] for name in opened.path("a")]) == (StopPolicy.CLOSE, "a")


def test_the_nearest_reclaim_override_counts_field_by_field() -> None:
    cluster = QuotaSettings(ReclaimSettings(grace_period=timedelta(seconds=1), notice=timedelta(seconds=2)))
    above = Group("p", reclaim=ReclaimOverrides(ReclaimMode.STRICT, grace_period=timedelta(seconds=30)))
    leaf = Group("a", "p", reclaim=ReclaimOverrides(grace_period=timedelta()))
    assert reclaim_in_force([leaf, above], cluster) == ReclaimSettings(
        mode=ReclaimMode.STRICT, grace_period=timedelta(), notice=timedelta(seconds=2)
    )
    assert reclaim_in_force([Group("a")], cluster) is cluster.reclaim


def test_the_nearest_startup_override_counts_field_by_field() -> None:
    cluster = QuotaSettings(startup=StartupSettings(limit=3))
    above = Group("p", startup=StartupOverrides(wait_for_pods_ready=True, limit=9))
    leaf = Group("a", "p", startup=StartupOverrides(wait_for_pods_ready=False, block_admission=BlockAdmission.GROUP))
    assert startup_in_force([leaf, above], cluster) == StartupSettings(
        wait_for_pods_ready=False, block_admission=BlockAdmission.GROUP, limit=9
    )


def test_group_setting_above_a_maximum_is_lowered_to_it() -> None:
    minute = timedelta(minutes=1)
    maxima = GroupMaxima(
        ReclaimMaxima(grace_period=minute, notice=minute), StartupMaxima(BlockAdmission.GROUP, recovery_timeout=minute)
    )
    cluster = QuotaSettings(maxima=maxima)
    leaf = Group(
        "a",
        reclaim=ReclaimOverrides(grace_period=2 * minute, notice=minute, exempt_after_start=9 * minute),
        startup=StartupOverrides(block_admission=BlockAdmission.CLUSTER, timeout=9 * minute),
    )
    reclaim, startup = reclaim_in_force([leaf], cluster), startup_in_force([leaf], cluster)
    assert (reclaim.grace_period, reclaim.notice, reclaim.exempt_after_start) == (minute, minute, 9 * minute)
    assert (startup.block_admission, startup.timeout, startup.recovery_timeout) == (
        BlockAdmission.GROUP,
        9 * minute,
        None,
    )


@pytest.mark.parametrize(
    ("own", "of_group", "expected"),
    [
        pytest.param(60, None, ("", 60), id="the Job's alone"),
        pytest.param(None, 60, ("p", 60), id="its group's alone"),
        pytest.param(59, 60, ("", 59), id="the Job's is shorter"),
        pytest.param(61, 60, ("p", 60), id="its group's is shorter"),
        pytest.param(60, 60, ("p", 60), id="equal ones"),
    ],
)
def test_the_shorter_limit_of_a_run_counts_and_is_named(
    own: int | None, of_group: int | None, expected: tuple[str, int]
) -> None:
    limits = [None if each is None else RunTimeLimit(timedelta(seconds=each), "p") for each in (own, of_group)]
    workload = replace(running("a", 1, "x", since=NOW), max_run_time=limits[0] and limits[0].time)
    end = run_end(workload, limits[1], timedelta())
    assert end is not None
    assert (end.limit.group, end.at) == (expected[0], after(expected[1]))
