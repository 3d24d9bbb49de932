"""Past use in the status: written seldom, and read back by the next leader as it was."""

from datetime import timedelta

import pytest

from shared.api.quotagroup import QuotaGroupStatus, QuotaStatus
from shared.cluster.state.faults.register import Faults
from shared.cluster.state.group_history import history_of, past_use_to_write, with_past_use
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.written_status import NO_PAST_USE, WrittenPastUse, read_past_use
from tests.builders import NOW, after, running, world
from tests.trees import GPU, KEY

HOUR = timedelta(hours=1)
BUSY = world("root 8\n  a ..8\n  b ..8", [running("a", 2, "x")])


def history_at(seconds: int) -> UseHistory:
    history = UseHistory(HOUR).after(BUSY, NOW)
    for second in range(30, seconds + 1, 30):
        history = history.after(BUSY, after(second))
    return history


def test_past_use_of_an_active_group_is_written_every_twelfth_of_a_half_life() -> None:
    first = past_use_to_write("a", history_at(120), NO_PAST_USE)
    assert first.time is not None
    assert first.amounts[KEY] == pytest.approx(240, rel=0.05)
    assert past_use_to_write("a", history_at(300), first) is first
    second = past_use_to_write("a", history_at(600), first)
    assert second.amounts[KEY] == pytest.approx(1130, rel=0.05)


def test_past_use_of_an_idle_group_is_not_written() -> None:
    assert past_use_to_write("b", history_at(600), NO_PAST_USE) is NO_PAST_USE
    shown = past_use_to_write("a", history_at(600), NO_PAST_USE)
    idle, empty = history_at(600).after(world("root 8\n  a ..8"), after(600)), world("root 8\n  a ..8")
    for minute in range(11, 60):
        idle = idle.after(empty, after(60 * minute))
        assert past_use_to_write("a", idle, shown) is shown or minute == 11


def test_next_leader_reads_past_use_decayed_to_now() -> None:
    written = WrittenPastUse(NOW, {KEY: 4000})
    status = with_past_use(QuotaGroupStatus(quotas=[QuotaStatus(used={GPU: "1"}), QuotaStatus(flavor="t4")]), written)
    assert read_past_use(status) == written
    record = GroupStatusRecord("a", 1, BUSY.tree["a"], status)
    history = history_of([record], HOUR, after(3600), Faults())
    assert history.amounts == {"a": {KEY: 2_000_000}}
    history = history.after(BUSY, after(3600))
    assert history.amounts["a"] == history.amounts["root"]
    assert history.amounts["a"][KEY] == pytest.approx(2_000_000, rel=0.02)


def test_past_use_is_neither_read_nor_written_without_a_half_life() -> None:
    record = GroupStatusRecord("a", 1, BUSY.tree["a"], with_past_use(QuotaGroupStatus(), WrittenPastUse(NOW, {KEY: 1})))
    history = history_of([record], timedelta(), NOW, Faults()).after(BUSY, after(60))
    assert history.amounts == {}
    assert past_use_to_write("a", history, NO_PAST_USE).time in (None, NOW)


@pytest.mark.parametrize("text", ["", "-5", "1e3", "\u0661"])
def test_invalid_past_use_is_ignored(text: str) -> None:
    status = QuotaGroupStatus(quotas=[QuotaStatus(past_use={GPU: text})], past_use_time=NOW)
    assert read_past_use(status) == WrittenPastUse(NOW, {})
