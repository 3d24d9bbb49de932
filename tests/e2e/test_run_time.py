"""Run times that owners declare: refused with a remedy, stopped at the end, resumed by the hold label."""

import json
from typing import Any

import pytest

from tests.e2e.kubectl_steps import Asking, Object, job

RUN_TIME = "quotree.dev/max-run-time"
EXPECTED = "quotree.dev/expected-run-time"


def limited(name: str, run_time: str, annotation: str = RUN_TIME) -> Object:
    made = job(name, "vision", 1)
    made["metadata"]["annotations"] = {annotation: run_time}
    return made


def note(ask: Asking, name: str, annotation: str) -> Any:
    return json.loads(ask.job(name)["metadata"]["annotations"].get(f"quotree.dev/{annotation}", "{}"))


@pytest.mark.parametrize("annotation", [RUN_TIME, EXPECTED])
def test_run_time_that_is_none_is_refused_with_what_to_write(ask: Asking, annotation: str) -> None:
    answer = ask.apply(limited("wrong", "8", annotation))
    assert answer.returncode == 1
    where = f"Job 'wrong' metadata.annotations[{annotation}]"
    expected = f"{where}: is '8'; write a duration of at least 1s, such as 8h (BadAnnotation)"
    assert expected in answer.stderr


def test_job_over_its_declared_time_is_resumed_by_its_owner(ask: Asking) -> None:
    assert ask.apply(limited("short", "1s")).returncode == 0
    ask.until("it is stopped", lambda: note(ask, "short", "eviction").get("reason") == "OverTime")
    ask.until("its pods have ended", lambda: not ask.job("short").get("status", {}).get("active"))
    assert (ask.is_held("short"), note(ask, "short", "requeue")["deactivated"]) == (True, True)
    raised = ask.patch("short", json.dumps({"metadata": {"annotations": {RUN_TIME: "1h"}}}))
    assert raised.returncode == 0, raised.stderr
    for value in ("true", None):
        held = ask.patch("short", json.dumps({"metadata": {"labels": {"quotree.dev/hold": value}}}))
        assert held.returncode == 0, held.stderr
    ask.until("it runs again", lambda: not ask.is_held("short"))
