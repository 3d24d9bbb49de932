"""The count beside the accounts: from what the API server stored alone, and every difference of an account is found."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from shared.api.core.job import read_job
from shared.api.names import ADMISSION, GROUP_LABEL
from tests.builders import after
from tests.chaos.judging.accounts import CountedRun, counted_runs, judge_accounts
from tests.chaos.judging.at_rest import Rest
from tests.chaos.judging.history.history import Version


def _versions(name: str, *admitted: float, ended: float, cpu: int = 2, leaf: str = "counted") -> Iterator[Version]:
    for place, seconds in enumerate((*admitted, admitted[-1])):
        body = _job(name, seconds, ended if place == len(admitted) else None, cpu, leaf)
        yield Version(place, after(seconds), f"uid-{name}", read_job(body), "user", "writer")


def _job(name: str, admitted: float, ended: float | None, cpu: int, leaf: str) -> dict[str, Any]:
    admission = f'{{"flavors": {{"cpu": "default"}}, "time": "{after(admitted).isoformat()}"}}'
    pod = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    over = {"type": "Complete", "status": "True", "lastTransitionTime": after(ended or 0).isoformat()}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {GROUP_LABEL: leaf},
            "annotations": {ADMISSION: admission},
        },
        "spec": {"template": {"spec": pod}},
        "status": {"conditions": [over]} if ended is not None else {},
    }


def test_jobs_of_the_leaf_count_from_their_admission_to_their_end() -> None:
    history = [*_versions("one", 1.25, ended=5), *_versions("other", 2, ended=4, leaf="lab")]
    (run,) = counted_runs(history, "counted")
    assert (run.key, run.used) == ("default/one", 2000 * 3750)


def test_a_job_that_was_admitted_twice_is_none_to_count() -> None:
    with pytest.raises(ValueError, match="Job default/twice was started at"):
        counted_runs([*_versions("twice", 1, 3, ended=5)], "counted")


def _group(name: str, used: int, *, is_parent: bool = False) -> dict[str, Any]:
    flavors = [{"flavor": "default", "used": {"cpu": str(used)}}]
    months = [{"period": "2026-01", "flavors": flavors}] if used else []
    return {
        "metadata": {"name": name},
        "spec": {"isParent": is_parent},
        "status": {"accountedUntil": "2026-01-01T00:00:00Z", "accounts": months},
    }


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ([_group("root", 90, is_parent=True), _group("counted", 60), _group("lab", 30)], []),
        (
            [_group("root", 91, is_parent=True), _group("counted", 61), _group("lab", 30)],
            ["the account says 61, 1 Jobs used 60: +1 of cpu times ms"],
        ),
        (
            [_group("root", 91, is_parent=True), _group("counted", 60), _group("lab", 30)],
            ["root's account says 91, those of all leaves 90"],
        ),
    ],
    ids=["right", "a unit too many", "another sum"],
)
def test_differences_of_one_unit_are_found(groups: list[dict[str, Any]], found: list[str]) -> None:
    runs = [CountedRun("default/one", 0, 20, 3)]
    assert [each.message for each in judge_accounts(Rest({"groups": groups}), runs, "counted")] == found


def test_what_ends_before_it_began_by_another_clock_used_nothing() -> None:
    assert CountedRun("default/one", 20, 0, 3).used == 0
    assert timedelta(milliseconds=CountedRun("default/one", 0, 20, 1).used) == timedelta(milliseconds=20)
