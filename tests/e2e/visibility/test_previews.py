"""What a tenant is told before it submits is what happens when it does, and names no workload of others."""

import json
from functools import partial
from pathlib import Path

import pytest
import yaml

from dev.controlplane.quotree import Quotree
from tests.e2e.visibility.manifests import OWNER
from tests.e2e.visibility.steps import (
    HIDDEN,
    as_team,
    first_answer,
    job_of,
    listed,
    run_command,
    suspended,
    tenant,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)


def test_preview_is_what_happens(quotree: Quotree, tmp_path: Path) -> None:
    quotree.cluster.apply(OWNER)
    file = tmp_path / "job.yaml"
    for name, group, request, starts in (
        ("tried-1", "lent", "10Gi", "Now"),
        ("tried-2", "vision", 1, "Never"),
        ("tried-3", "lent", "70Gi", "Never"),
        ("tried-4", "owed", "40Gi", "Now"),
    ):
        file.write_text(yaml.safe_dump(job_of("team-a", group, name, request)))
        words = ("try", "-f", str(file), "-n", "team-a", "--as", "owner-a", "-o", "json")

        def is_predicted(words: tuple[str, ...] = words, starts: str = starts) -> bool:
            answer = run_command(quotree, *words)
            assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []
            return answer.returncode != 2 and json.loads(answer.stdout)["workloads"][0]["starts"] == starts

        wait_for(is_predicted, f"{name} starts {starts}")
        line = "would start now" if starts == "Now" else "would not start now"
        tries = partial(as_team, quotree, "owner-a", "create", "--dry-run=server", "-f", str(file))
        dry = first_answer(tries, f"Warning: Job 'team-a/{name}' {line}")
        assert [each for each in HIDDEN if each in dry.stdout + dry.stderr] == []
        quotree.cluster.kubectl("create", "-f", str(file), as_kubeconfig=tenant(quotree, "owner-a"))
        if starts == "Now":
            wait_for(partial(_runs, quotree, name), f"{name} starts")
        else:
            wait_for(partial(_waits, quotree, name), f"{name} waits")
            assert suspended(quotree.cluster, name, "team-a")
        quotree.cluster.kubectl("delete", "job", name, "-n", "team-a")
    refused = as_team(quotree, "team-a", "create", "--dry-run=server", "-f", str(file))
    assert "Forbidden" in refused.stderr
    file.write_text(yaml.safe_dump(job_of("team-a", "nowhere", "tried-5", 1)))
    judged = run_command(quotree, "try", "-f", str(file), "-n", "team-a", "--as", "owner-a", "-o", "json")
    rule = "metadata.labels[quotree.dev/group]: there is no group nowhere; "
    assert (judged.returncode, judged.stderr.partition(rule)[:2]) == (1, ("quotree: refused: Job 'tried-5' ", rule))
    (refused_by_rule,) = json.loads(judged.stdout)["refused"]
    assert refused_by_rule["message"].startswith(f"Job 'tried-5' {rule}")
    wait_for(lambda: listed(quotree) == ["hidden-head", "own"], "it is as before")


def _runs(quotree: Quotree, name: str) -> bool:
    return not suspended(quotree.cluster, name, "team-a")


def _waits(quotree: Quotree, name: str) -> bool:
    return as_team(quotree, "team-a", "get", "pw", name, "-n", "team-a", "-o", "name").returncode == 0
