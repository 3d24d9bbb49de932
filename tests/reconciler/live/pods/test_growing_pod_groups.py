"""A pod that joins a running pod group is a workload of its own: an admission is for the pods that it names."""

from typing import Any

import pytest

from shared.api.names import ADMISSION, GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL, PREEMPTIBLE_LABEL
from tests.reconciler.live.pods.test_pods import held, placed, pod
from tests.reconciler.reconciler_process import Quotree, note_of, quota, wait_for
from tests.reconciler.tenants import PODS, Tenant

pytestmark = pytest.mark.timeout(900)
LONG = 240.0


def member(name: str, cpu: str, size: str = "1") -> dict[str, Any]:
    labels = {POD_GROUP_LABEL: "pg", POD_GROUP_SIZE_LABEL: size, PREEMPTIBLE_LABEL: "false"}
    return pod(name, "vision", cpu, labels=labels)


@pytest.mark.parametrize("restart", [False, True], ids=["same process", "restarted"])
def test_pods_that_join_a_started_pod_group_are_admitted_separately(q: Quotree, restart: bool) -> None:
    tenant = Tenant.of(q)
    q.lead()
    q.group("root", quotas=[quota(max="40")])
    q.group("vision", quotas=[quota(min="8")])
    tenant.create(PODS, member("seed", "100m"))
    wait_for(lambda: "seed" in placed(q), "the group of one runs", LONG)
    if restart:
        q.kill()
        q.release()
    for number in range(5):
        tenant.create(PODS, member(f"grow-{number}", "4"))
    if restart:
        q.start()
    wait_for(lambda: len(placed(q)) == 2, "one more fits into min", LONG)
    counts = {"pending": 4, "admitted": 2, "ready": 2}
    wait_for(lambda: q.workload_counts("vision") == counts, "the others wait", LONG)
    assert len(held(q)) == 4
    (name,) = placed(q).keys() - {"seed"}
    grown = q.get(f"{PODS}/{name}")
    assert (note_of(grown, ADMISSION) or {})["members"] == []


def test_labels_of_an_ended_pod_do_not_move_what_runs_of_its_pod_group(q: Quotree) -> None:
    tenant = Tenant.of(q)
    q.lead()
    q.group("vision", quotas=[quota(min="8")])
    q.group("nlp", quotas=[quota(min="8")])
    for name in ("a", "b"):
        tenant.create(PODS, member(name, "1", size="2"))
    wait_for(lambda: placed(q).keys() == {"a", "b"}, "both run", LONG)
    q.merge(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    tenant.merge(f"{PODS}/a", {"metadata": {"labels": {GROUP_LABEL: "nlp"}}})
    # What comes after it is seen after it.
    tenant.create(PODS, pod("later", "nlp", "2"))

    def used(group: str) -> Any:
        return q.group_status(group)["quotas"][0]["used"]

    wait_for(lambda: used("nlp") == {"cpu": "2"}, "only the one that comes later runs there", LONG)
    wait_for(lambda: used("vision") == {"cpu": "1"}, "the other pod of the group is counted as before", LONG)


def test_no_pod_joins_a_held_pod_group(q: Quotree) -> None:
    tenant = Tenant.of(q)
    q.lead()
    q.group("vision", quotas=[quota(min="8")])
    tenant.create(PODS, member("seed", "100m"))
    wait_for(lambda: "seed" in placed(q), "the group of one runs", LONG)
    q.group("vision", stopPolicy="Hold")
    wait_for(lambda: q.condition("vision", "Stopped").get("reason") == "Hold", "it is on hold", LONG)
    tenant.create(PODS, member("grow", "1"))
    counts = {"pending": 1, "admitted": 1, "ready": 1}
    wait_for(lambda: q.workload_counts("vision") == counts, "it waits", LONG)
    assert held(q) == {"grow"}


def test_pod_group_starts_whole_and_records_its_members(q: Quotree) -> None:
    tenant = Tenant.of(q)
    q.lead()
    q.group("vision", quotas=[quota(min="8")])
    for name in ("a", "b"):
        tenant.create(PODS, member(name, "1", size="2"))
    wait_for(lambda: placed(q).keys() == {"a", "b"}, "both run", LONG)
    found = {each["metadata"]["name"]: each for each in q.get(PODS)["items"]}
    names = sorted(each["metadata"]["uid"][:8] for each in found.values())
    assert [(note_of(each, ADMISSION) or {})["members"] for each in found.values()] == [names, names]


def test_pod_deleted_before_the_start_leaves_its_pod_group(q: Quotree) -> None:
    tenant = Tenant.of(q)
    q.lead()
    q.group("vision", quotas=[quota(min="8")], stopPolicy="Hold")
    kept = member("kept", "1", size="2")
    kept["metadata"]["finalizers"] = ["example.com/mine"]
    tenant.create(PODS, kept)
    tenant.create(PODS, member("one", "1", size="2"))
    counts = {"pending": 1, "admitted": 0, "ready": 0}
    wait_for(lambda: q.workload_counts("vision") == counts, "the group of two waits", LONG)
    tenant.delete(f"{PODS}/kept")
    try:
        # Before the group is opened: with a start on its way, each pod would be started as it is by then.
        wait_for(lambda: "NotAsWritten" in dict(q.events("one")), "its other pod is told why it waits", LONG)
        q.group("vision", stopPolicy="None")
        q.known("vision")
        tenant.create(PODS, member("two", "1", size="2"))
        wait_for(lambda: placed(q).keys() == {"one", "two"}, "the two that are there start together", LONG)
        assert held(q) == {"kept"}
    finally:
        tenant.merge(f"{PODS}/kept", {"metadata": {"finalizers": None}})
