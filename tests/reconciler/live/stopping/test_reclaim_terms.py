"""When borrowed quota is taken back: grace, exemption after start, work that never goes, claims, events."""

from datetime import datetime, timedelta

import pytest

from dev.controlplane import cluster
from shared.api.names import EVICTION, PREEMPTIBLE_LABEL
from tests.reconciler.reconciler_process import Quotree, admission_of, eviction_of, note_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
FIRM = {PREEMPTIBLE_LABEL: "false"}


def stopped(q: Quotree) -> set[str]:
    return {name for name, job in q.jobs().items() if eviction_of(job) is not None}


def time_in(note: dict[str, object] | None, word: str = "time") -> datetime:
    assert note is not None
    return datetime.fromisoformat(str(note[word]))


def ready(q: Quotree, group: str) -> int:
    """How many workloads of the group the reconciler knows as ready."""
    return int(q.group_status(group).get("workloads", {}).get("ready", 0))


def borrow(q: Quotree, group: str, jobs: int, **more: str) -> None:
    for number in range(jobs):
        q.job(f"{group}-{number}", group, **more)
    names = {f"{group}-{number}" for number in range(jobs)}
    wait_for(lambda: names <= q.running(), f"{group} borrows", LONG)


def test_grace_period_and_exempt_after_start_delay_reclaim(q: Quotree) -> None:
    q.lead()
    for name, terms in (("east", {"gracePeriod": "3s"}), ("west", {"exemptAfterStart": "4s"})):
        q.group(name, isParent=True, quotas=[quota(min="2", max="2")], reclaim=terms)
        for leaf in ("lender", "borrower"):
            q.group(f"{name}-{leaf}", parent=name, quotas=[quota(min="1")])
        borrow(q, f"{name}-borrower", 2)
    preemptors = {name: q.job(f"{name}-preemptor", f"{name}-lender") for name in ("east", "west")}
    asked = datetime.fromisoformat(preemptors["east"]["metadata"]["creationTimestamp"])
    wait_for(lambda: {"east-preemptor", "west-preemptor"} <= q.running(), "both lenders have theirs", LONG)
    victims = {name.split("-")[0]: eviction_of(q.get_job(name)) for name in stopped(q)}
    assert sorted(victims) == ["east", "west"]
    assert time_in(victims["east"]) - asked >= timedelta(seconds=3)
    assert time_in(victims["west"]) - time_in(victims["west"], "since") >= timedelta(seconds=4)


def test_non_preemptible_workload_is_never_evicted_and_never_borrows(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    borrow(q, "vision", 3)
    for name in ("firm-1", "firm-2", "firm-3"):
        q.job(name, "vision", labels=FIRM)
    wait_for(lambda: "firm-1" in q.running(), "one takes the last room", LONG)
    q.delete(f"{JOBS}/vision-0")
    wait_for(lambda: "firm-2" in q.running(), "another one the next", LONG)
    q.delete(f"{JOBS}/vision-1")
    wait_for(lambda: any(reason == "BeyondMin" for reason, _ in q.events("firm-3")), "the third is told", LONG)
    assert q.running() == {"firm-1", "firm-2", "vision-2"}
    q.job("lender", "nlp", "2")
    wait_for(lambda: "lender" in q.running(), "the lender has its own", LONG)
    assert q.running() == {"firm-1", "firm-2", "lender"}
    assert stopped(q) == {"vision-2"}


def test_lost_capacity_scales_every_min_and_stops_workloads_without_a_node(q: Quotree) -> None:
    labels = {"model": "small"}
    nodes = [cluster.NodeSpec(f"small-{n}", labels=labels, allocatable={"cpu": "2", "pods": "10"}) for n in range(3)]
    q.control_plane.add_nodes(nodes[:2])
    q.lead(capacity={"nodeGracePeriod": "0s", "lossGracePeriod": "1s"})
    q.flavor("small", nodeLabels=labels)
    groups = ("vision", "nlp")
    for name in groups:
        # A group that loses both of its Jobs is owed one of the other's: none is reclaimed here.
        q.group(name, quotas=[quota("small", min="2")], reclaim={"gracePeriod": "1h"})
        for number in range(2):
            q.job(f"{name}-{number}", name, pod={"nodeSelector": labels})
    # Jobs that have never been ready have no place either, whatever their nodes.
    wait_for(lambda: all(ready(q, name) == 2 for name in groups), "all are known as ready", LONG)
    placed = {name for name in q.running() if set(q.pods_on_nodes(name).values()) == {"small-1"}}
    q.delete("/api/v1/nodes/small-1")
    for name in placed:
        for pod in q.pods_on_nodes(name):
            q.delete(f"/api/v1/namespaces/default/pods/{pod}")
    wait_for(lambda: len(stopped(q)) == 2, "two have gone", LONG)
    assert stopped(q) == placed
    assert {(eviction_of(q.get_job(name)) or {})["reason"] for name in stopped(q)} == {"CapacityLost"}

    def least(group: str) -> list[str]:
        return [each["min"]["cpu"] for each in q.group_status(group).get("quotas", [])]

    wait_for(lambda: least("vision") == least("nlp") == ["1"], "each min is scaled to what is there", LONG)
    # Nobody else ends the pods of a node that is gone, and until then they use quota.
    q.end_pods()
    q.control_plane.add_nodes(nodes[2:])
    wait_for(lambda: len(q.running()) == 4, "they are back with another node", LONG)


@pytest.mark.parametrize("is_deleted", [False, True], ids=["the victim is there", "the victim is deleted meanwhile"])
def test_preemptor_with_a_claim_gets_its_room_after_a_restart(q: Quotree, is_deleted: bool) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="1")])
    q.group("nlp", quotas=[quota(min="1")])
    slow = {"demo.quotree.dev/stop-takes": "5s"}
    for name in ("vision-0", "vision-1"):
        q.job(name, "vision", annotations=slow)
    wait_for(lambda: len(q.pods_on_nodes("vision-0") | q.pods_on_nodes("vision-1")) == 2, "both run", LONG)
    q.job("preemptor", "nlp")
    wait_for(lambda: stopped(q), "one is stopped", LONG)
    q.kill()
    q.release()
    (victim,) = stopped(q)
    made = eviction_of(q.get_job(victim))
    if is_deleted:
        q.delete(f"{JOBS}/{victim}")
        pods = f"/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io/job-name={victim}"
        wait_for(lambda: not q.get(pods)["items"], "it is gone with its pods, and its claim with it", LONG)
    q.job("rival", "nlp")
    q.lead()
    wait_for(lambda: "preemptor" in q.running(), "the preemptor has the room that was freed for it", LONG)
    assert "rival" not in q.running()
    if is_deleted:
        assert stopped(q) == set()
    else:
        assert stopped(q) == {victim}
        assert eviction_of(q.get_job(victim)) == made


def test_eviction_records_preemptor_rule_and_start_time(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    borrow(q, "vision", 4)
    since = {name: (admission_of(q.get_job(name)) or {})["time"] for name in q.running()}
    preemptor = q.job("preemptor", "nlp", "2")
    wait_for(lambda: "preemptor" in q.running(), "the preemptor runs", LONG)
    assert len(stopped(q)) == 2
    uid = preemptor["metadata"]["uid"]
    claim = {"workload": "default/preemptor", "group": "nlp", "uid": uid, "flavors": {"cpu": "default"}}
    for victim in stopped(q):
        note = note_of(q.get_job(victim), EVICTION) or {}
        assert note["for"] == claim
        assert (note["reason"], note["rule"], note["since"]) == ("Reclaimed", "Reclaim", since[victim])
        assert note["flavors"] == {"cpu": "default"}
        assert "'default/preemptor'" in note["message"]
        message = ("Reclaimed", str(note["message"]))
        wait_for(lambda message=message, victim=victim: message in q.events(victim), "the victim is told", LONG)  # type: ignore[misc]
    expected = [
        ("RoomReclaimed", "a workload of group vision is evicted for it (Reclaim)"),
        ("Started", "group nlp admits it, entitled: cpu from default"),
    ]

    def notices() -> list[tuple[str, str]]:
        return [event for event in q.events("preemptor") if event[0] != "WaitingForEvictions"]

    wait_for(lambda: len(notices()) >= len(expected), "the preemptor is told", LONG)
    assert notices() == expected
