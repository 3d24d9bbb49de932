"""Plain pods: held by their gate, placed by flavor, recycled by eviction so that disruption budgets hold, in groups."""

from typing import Any

import pytest

from dev.controlplane import cluster
from shared.api.names import ADMISSION, EVICTION, GATE, GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from tests.reconciler.reconciler_process import Quotree, note_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
PODS = "/api/v1/namespaces/default/pods"
LONG = 240.0


def pod(name: str, group: str, cpu: str = "1", *, labels: dict[str, str] | None = None) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {GROUP_LABEL: group, **(labels or {})}},
        "spec": {"schedulingGates": [{"name": GATE}], "containers": [container]},
    }


def pods(q: Quotree) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in q.get(PODS)["items"]}


def held(q: Quotree) -> set[str]:
    return {name for name, each in pods(q).items() if each["spec"].get("schedulingGates")}


def placed(q: Quotree) -> dict[str, str]:
    return {name: each["spec"]["nodeName"] for name, each in pods(q).items() if each["spec"].get("nodeName")}


def test_pod_starts_only_on_nodes_of_its_flavor(q: Quotree) -> None:
    q.control_plane.add_nodes(
        [cluster.NodeSpec("fast-0", labels={"model": "fast"}, allocatable={"cpu": "4", "pods": "10"})]
    )
    # Before the leader: it might learn of the pods before it learns of a flavor.
    q.flavor("fast", nodeLabels={"model": "fast"})
    q.lead()
    q.group("vision", quotas=[quota("fast", min="2", max="2"), quota(min="10")])
    for number in range(3):
        q.create(PODS, pod(f"pod-{number}", "vision"))
    wait_for(lambda: len(placed(q)) == 3, "all are placed", LONG)
    fast = {name for name, each in pods(q).items() if "fast" in each["metadata"]["annotations"][ADMISSION]}
    assert len(fast) == 2
    assert {placed(q)[name] for name in fast} == {"fast-0"}


def test_a_pod_waits_for_quota(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.create(PODS, pod("first", "vision"))
    wait_for(lambda: "first" in placed(q), "the first runs", LONG)
    q.create(PODS, pod("second", "vision"))
    counts = {"pending": 1, "admitted": 1, "ready": 1}
    wait_for(lambda: q.workload_counts("vision") == counts, "both are counted", LONG)
    assert held(q) == {"second"}
    q.delete(f"{PODS}/first")
    wait_for(lambda: "second" in placed(q), "the second runs in its place", LONG)


def test_disruption_budget_delays_the_reclaim_of_a_pod(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="1")])
    q.group("nlp", quotas=[quota(min="1")])
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {GROUP_LABEL: "vision"}}},
    }
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    q.create(budgets, budget)
    for name in ("one", "two"):
        q.create(PODS, pod(name, "vision"))
    wait_for(lambda: len(placed(q)) == 2, "vision borrows", LONG)
    wait_for(lambda: q.get(f"{budgets}/keep")["status"].get("currentHealthy") == 2, "the budget sees both", LONG)
    q.create(PODS, pod("lender", "nlp"))
    victim = wait_for(
        lambda: [name for name, each in pods(q).items() if EVICTION in each["metadata"].get("annotations", {})],
        "one is told to go",
        LONG,
    )
    assert held(q) == {"lender"}
    assert not any(each["metadata"].get("deletionTimestamp") for each in pods(q).values())
    q.delete(f"{budgets}/keep")
    wait_for(lambda: "lender" in placed(q), "the lender runs", LONG)
    wait_for(lambda: set(pods(q)) == {"one", "two", "lender"} - set(victim), "the victim alone is gone", LONG)


def test_pods_of_a_pod_group_start_together_or_not_at_all(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="3", max="3")])
    gang = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    q.create(PODS, pod("gang-0", "vision", labels=gang))
    q.create(PODS, pod("alone", "vision", "2"))
    wait_for(lambda: "alone" in placed(q), "what is complete goes first", LONG)
    q.create(PODS, pod("gang-1", "vision", labels=gang))
    wait_for(lambda: q.group_status("vision").get("workloads", {}).get("pending") == 1, "the group waits", LONG)
    assert held(q) == {"gang-0", "gang-1"}
    q.delete(f"{PODS}/alone")
    wait_for(lambda: set(placed(q)) == {"gang-0", "gang-1"}, "both start", LONG)


def test_half_started_pod_group_is_completed_by_the_next_reconciler(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="2")])
    q.stop()
    gang = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    started = pod("gang-0", "vision", labels=gang)
    started["metadata"]["annotations"] = {ADMISSION: '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'}
    del started["spec"]["schedulingGates"]
    q.create(PODS, started)
    q.create(PODS, pod("gang-1", "vision", labels=gang))
    q.start()
    wait_for(lambda: set(placed(q)) == {"gang-0", "gang-1"}, "both run", LONG)


def test_pod_group_is_reclaimed_whole_even_if_a_budget_delays_one_pod(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(max="2")])
    q.group("nlp", quotas=[quota(min="2")])
    gang = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"kept": "yes"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"}, "spec": spec}
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    q.create(budgets, budget)
    q.create(PODS, pod("gang-0", "vision", labels={**gang, "kept": "yes"}))
    q.create(PODS, pod("gang-1", "vision", labels=gang))
    wait_for(lambda: set(placed(q)) == {"gang-0", "gang-1"}, "both run on borrowed quota", LONG)
    wait_for(lambda: q.get(f"{budgets}/keep")["status"].get("currentHealthy") == 1, "the budget sees its pod", LONG)
    q.create(PODS, pod("lender", "nlp", "2"))
    wait_for(lambda: set(placed(q)) == {"gang-0"}, "the one that nothing holds goes at once", LONG)
    assert held(q) == {"lender"}
    q.delete(f"{budgets}/keep")
    wait_for(lambda: set(placed(q)) == {"lender"}, "the lender runs when both have gone", LONG)


def test_terminating_pod_uses_its_quota_until_it_has_ended(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")])
    first = pod("first", "vision")
    first["metadata"]["annotations"] = {"demo.quotree.dev/stop-takes": "1h"}
    q.create(PODS, first)
    wait_for(lambda: "first" in placed(q), "it runs", LONG)
    q.create(PODS, pod("second", "vision"))
    q.delete(f"{PODS}/first")
    wait_for(lambda: q.group_status("vision").get("workloads", {}).get("pending") == 1, "the second waits", LONG)
    assert held(q) == {"second"}
    assert q.stopping_pods() == ["first"]
    q.end_pods()
    wait_for(lambda: set(placed(q)) == {"second"}, "it starts when the first has ended", LONG)


def test_preemptor_gets_the_room_even_if_its_claim_has_expired(q: Quotree) -> None:
    q.lead(reclaim={"claimTimeout": "2s"})
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="1")])
    q.group("nlp", quotas=[quota(min="1")])
    spec = {"minAvailable": 2, "selector": {"matchLabels": {GROUP_LABEL: "vision"}}}
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"}, "spec": spec}
    q.create(budgets, budget)
    for name in ("one", "two"):
        q.create(PODS, pod(name, "vision"))
    wait_for(lambda: q.get(f"{budgets}/keep")["status"].get("currentHealthy") == 2, "the budget sees both", LONG)
    q.create(PODS, pod("lender", "nlp"))

    def ends() -> list[str]:
        notes = [note_of(each, EVICTION) for each in pods(q).values()]
        return [note["claimEnded"] for note in notes if note is not None and note.get("claimEnded")]

    assert wait_for(ends, "the claim has ended", LONG) == ["TimedOut"]
    assert held(q) == {"lender"}
    q.delete(f"{budgets}/keep")
    wait_for(lambda: "lender" in placed(q), "it runs when the victim has ended", LONG)
    wait_for(lambda: len(placed(q)) == 2, "the victim is gone", LONG)
