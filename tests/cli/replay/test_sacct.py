"""What `sacct` prints as workloads: tasks of arrays, cancelled and requeued jobs, steps, and lines that are damaged."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.replay.mapping import LogMapping
from cli.replay.past import PastLog, PastWorkload
from cli.replay.sacct import read_sacct
from shared.problems import Problem

SAMPLE = Path(__file__).parent / "samples" / "sacct.txt"


def _at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-05T{clock}+00:00")


@pytest.fixture(scope="module")
def log() -> PastLog:
    return read_sacct(str(SAMPLE), LogMapping(groups={"Physics_Dept": "physics"}, flavors={"a100": "big"}))


def _find(log: PastLog, name: str) -> PastWorkload:
    (found,) = (each for each in log.workloads if each.workload.key.endswith(f"/{name}"))
    return found


def test_each_job_and_task_is_one_workload(log: PastLog) -> None:
    names = [each.workload.key for each in log.workloads]
    assert names == ["ada/100", "bob/101-1", "bob/101-2", "bob/102", "ada/103", "ada/104"]
    assert (log.begin, log.end) == (_at("08:00:00"), _at("09:00:10"))


def test_requests_accounts_and_types_of_devices_are_carried(log: PastLog) -> None:
    gpus, plain = _find(log, "100").workload, _find(log, "101-1").workload
    assert gpus.request == {"cpu": 8000, "memory": 16 << 30, "nvidia.com/gpu": 2}
    assert (gpus.group, gpus.only_flavor) == ("physics", "big")
    assert (plain.request, plain.group, plain.only_flavor) == ({"cpu": 4000, "memory": 2 << 30}, "chem", None)


RUNS = {
    "100": (timedelta(hours=1), ["08:00:10"], 0, None),
    "101-2, which failed at once": (timedelta(seconds=1), ["08:10:30"], 0, None),
    "102, which was cancelled while it waited": (None, [], 0, "08:25:00"),
    "103, which was requeued": (timedelta(minutes=5), ["08:30:05", "08:50:00"], 1, None),
    "104, which still runs": (None, ["08:40:01"], 0, None),
}


@pytest.mark.parametrize("job", RUNS)
def test_runs_are_as_recorded(log: PastLog, job: str) -> None:
    found = _find(log, job.partition(",")[0])
    run_time, starts, evictions, left = RUNS[job]
    assert (found.run_time, len(found.evictions), found.left) == (
        run_time,
        evictions,
        None if left is None else _at(left),
    )
    assert found.starts == tuple(map(_at, starts))


def test_requeued_job_waits_since_its_first_submission(log: PastLog) -> None:
    assert _find(log, "103").workload.created == _at("08:30:00")


def test_damaged_lines_are_counted_and_do_not_stop_the_rest(log: PastLog) -> None:
    assert log.unread.lines() == [
        "4 lines left out",
        "line 7: job 101_[3-9] is several tasks that have not started",
        "line 12: Invalid isoformat string: 'yesterday'",
        "line 13: has 1 fields, not 10",
        "line 14: job 106 ends before it starts",
    ]


def test_times_are_of_the_zone_of_the_mapping() -> None:
    found = read_sacct(str(SAMPLE), LogMapping(time_zone="Europe/Berlin"))
    assert found.begin == datetime(2026, 1, 5, 7, tzinfo=UTC)


def test_a_file_without_a_column_says_how_to_print_it(tmp_path: Path) -> None:
    file = tmp_path / "sacct.txt"
    file.write_text("JobID|Account|State\n1|a|COMPLETED\n")
    with pytest.raises(Problem, match="has no column Submit, Start, End; print it with sacct --allusers"):
        read_sacct(str(file), LogMapping())
