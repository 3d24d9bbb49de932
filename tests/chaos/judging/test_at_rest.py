"""What the checker says of a cluster at rest: work that is lost, and work that the engine would still handle."""

from typing import Any

from shared.quota.model.settings import QuotaSettings
from tests.builders import NOW, after
from tests.chaos.judging.at_rest import PATHS, Rest, judge, unseen
from tests.chaos.judging.history.history import Version
from tests.chaos.judging.history.records import Lease

ROOT: dict[str, Any] = {"metadata": {"name": "root", "uid": "root"}, "spec": {"isParent": True}}
LEAF: dict[str, Any] = {"metadata": {"name": "leaf", "uid": "leaf"}, "spec": {"quotas": [{"min": {"cpu": "2"}}]}}
NODE: dict[str, Any] = {
    "metadata": {"name": "node", "uid": "node"},
    "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
}


def job(name: str, cpu: str, condition: str = "", revision: str = "1") -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "resourceVersion": revision,
            "creationTimestamp": NOW.isoformat(),
            "labels": {"quotree.dev/group": "leaf"},
        },
        "spec": {"suspend": not condition, "template": {"spec": {"containers": [container]}}},
        "status": {"conditions": [{"type": condition, "status": "True"}]} if condition else {},
    }


def at_rest(*jobs: dict[str, Any]) -> Rest:
    lists: dict[str, list[dict[str, Any]]] = {name: [] for name in PATHS}
    return Rest({**lists, "jobs": list(jobs), "groups": [ROOT, LEAF], "nodes": [NODE]})


def flaws(rest: Rest, *wanted: str) -> list[tuple[str, str]]:
    return [(flaw.rule, flaw.object) for flaw in judge(rest, wanted, (), after(60), QuotaSettings())]


def test_cluster_with_all_workloads_done_is_at_rest() -> None:
    assert flaws(at_rest(job("done", "1", "Complete")), "done") == []


def test_accepted_job_that_is_missing_is_reported() -> None:
    assert flaws(at_rest(), "vanished") == [("Lost", "default/vanished")]


def test_unexpected_failure_is_reported() -> None:
    assert flaws(at_rest(job("failed", "1", "Failed")), "failed") == [("Lost", "default/failed")]


def test_pending_workload_that_the_engine_would_start_is_reported() -> None:
    assert flaws(at_rest(job("waits", "2")), "waits") == [("Stuck", "default/waits")]


def test_workload_that_stays_pending_is_reported() -> None:
    assert flaws(at_rest(job("huge", "9")), "huge") == [("Lost", "default/huge")]


def test_history_without_the_last_version_is_incomplete() -> None:
    history = [Version(1, NOW, each, Lease(""), "someone", "someone") for each in ("seen", "missed")]
    rest = at_rest(job("seen", "1", revision="1"), job("missed", "1", revision="2"))
    assert unseen(rest, history) == ["default/missed"]
