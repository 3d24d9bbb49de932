"""When a watch waits before it reads on."""

from shared.kube.watch.pace import Pace


def waits(*reads: float, events: int = 1) -> list[float]:
    """The seconds of waiting after each of these reads, of so many events each."""
    pace = Pace()
    return [pace.wait_after(read, events) for read in reads]


def test_the_events_of_a_few_changes_are_read_at_once() -> None:
    assert not any(waits(*(number * 0.001 for number in range(8))))


def test_after_many_events_in_a_row_there_is_a_moment_before_each_next_read() -> None:
    assert waits(*(number * 0.001 for number in range(11)))[7:] == [0.0, 0.025, 0.025, 0.025]


def test_the_moment_lasts_while_each_read_returns_many_events() -> None:
    assert waits(*(number * 0.026 for number in range(100)), events=10) == [0.025] * 100


def test_reads_of_few_events_after_a_burst_are_at_once_again() -> None:
    pace = Pace()
    assert pace.wait_after(0.0, 1000) == 0.025
    assert [pace.wait_after(0.032 * number, 1) for number in range(1, 6)] == [0.025, 0.025, 0.025, 0.0, 0.0]


def test_events_after_a_quiet_moment_are_read_at_once_again() -> None:
    assert waits(*(number * 0.001 for number in range(20)), 0.2)[-2:] == [0.025, 0.0]


def test_events_of_one_job_after_another_are_all_read_at_once() -> None:
    assert not any(waits(*(number * 0.012 for number in range(1000))))
