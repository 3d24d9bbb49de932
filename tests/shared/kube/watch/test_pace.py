"""When a watch waits before it reads on."""

from shared.kube.watch.pace import Pace


def waits(*reads: float) -> list[float]:
    """The seconds of waiting after each of these reads."""
    pace = Pace()
    return [pace.wait_after(read) for read in reads]


def test_the_events_of_a_few_changes_are_read_at_once() -> None:
    assert not any(waits(*(number * 0.001 for number in range(8))))


def test_after_many_reads_in_a_row_there_is_a_moment_before_each_next_one() -> None:
    assert waits(*(number * 0.001 for number in range(10)))[7:] == [0.0, 0.01, 0.01]


def test_the_moment_itself_does_not_end_the_row() -> None:
    assert waits(*(number * 0.001 for number in range(8)), 0.018, 0.030, 0.042)[-3:] == [0.01, 0.01, 0.01]


def test_events_after_a_quiet_moment_are_read_at_once_again() -> None:
    assert waits(*(number * 0.001 for number in range(9)), 0.03)[-2:] == [0.01, 0.0]


def test_events_that_come_slowly_are_all_read_at_once() -> None:
    assert not any(waits(*(number * 0.02 for number in range(100))))
