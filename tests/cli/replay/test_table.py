"""A CSV table as workloads, and what is said of columns and lines that cannot be read."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.replay.mapping import LogMapping
from cli.replay.table import read_table
from dev.openb.records import read_pods
from shared.problems import Problem
from shared.process.settings import load_settings
from tests.project.repository import ROOT

OPENB = ROOT / "dev" / "openb" / "data" / "openb_pods.csv"
TEXT = """job,team,begin,start,end,cores
a,red,2026-01-05T08:00:00+01:00,2026-01-05T08:00:10+01:00,2026-01-05T08:10:10+01:00,2
b,blue,60,,120,1
c,red,many,1,2,1
d,red,0,0,10,much
"""
MAPPING = """
groups: {red: team-red}
table:
  name: job
  group: team
  submitted: begin
  started: start
  ended: end
  requests: {cpu: {column: cores}}
"""


def _mapping(folder: Path, text: str = MAPPING) -> LogMapping:
    (folder / "mapping.yaml").write_text(text)
    return load_settings(folder / "mapping.yaml", LogMapping)


def test_rows_are_workloads_with_times_in_seconds_or_as_text(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(TEXT)
    log = read_table(str(tmp_path / "log.csv"), _mapping(tmp_path))
    waited, ran = sorted(log.workloads, key=lambda each: each.workload.key, reverse=True)
    begin = datetime(2026, 1, 5, 7, tzinfo=UTC)
    assert (ran.workload.key, ran.workload.group, ran.workload.request) == ("log/a", "team-red", {"cpu": 2000})
    assert (ran.workload.created, ran.starts, ran.run_time) == (
        begin,
        (begin + timedelta(seconds=10),),
        timedelta(minutes=10),
    )
    assert (waited.workload.group, waited.starts, waited.left) == ("blue", (), datetime(2026, 1, 1, 0, 2, tzinfo=UTC))
    assert [line.partition(": ")[0] for line in log.unread.lines()] == ["2 lines left out", "line 4", "line 5"]


def test_the_public_trace_is_read_whole() -> None:
    log = read_table(str(OPENB), load_settings(ROOT / "docs" / "replay" / "openb-mapping.yaml", LogMapping))
    pods = list(read_pods())
    assert (len(log.workloads), log.unread.number) == (len(pods), 0)
    gpus = sum(each.workload.request.get("nvidia.com/gpu", 0) for each in log.workloads)
    assert gpus == sum(each.gpus for each in pods)
    assert sum(each.starts == () for each in log.workloads) == sum(each.scheduled is None for each in pods)


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ("groups: {}", "is a table; name its columns under `table`"),
        (MAPPING.replace("name: job", "name: pod"), "has no column pod; its columns are job, team"),
        (MAPPING.replace("table:", "table:\n  epoch: today"), "table.epoch: 'today' is not a time"),
        (MAPPING + "\ntimeZone: Mars/Base", "timeZone: 'Mars/Base' is not a time zone"),
    ],
    ids=["no columns", "an absent column", "a bad epoch", "a bad zone"],
)
def test_a_bad_mapping_says_what_is_wrong(tmp_path: Path, mapping: str, problem: str) -> None:
    (tmp_path / "log.csv").write_text(TEXT)
    with pytest.raises(Problem, match=problem):
        read_table(str(tmp_path / "log.csv"), _mapping(tmp_path, mapping))
