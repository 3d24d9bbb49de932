"""A started workload whose pods get no node within `startup.timeout`: its owner gets the scheduler's reason."""

from typing import Any

import pytest

from shared.api.names import GATE, GROUP_LABEL
from tests.reconciler.reconciler_process import Quotree, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
PODS = "/api/v1/namespaces/default/pods"
NOWHERE = {"nodeSelector": {"no-such": "label"}}


def reasons(q: Quotree, name: str) -> dict[str, str]:
    return dict(q.events(name))


def events_of(q: Quotree, name: str) -> str:
    return wait_for(lambda: reasons(q, name).get("NotPlaced", ""), f"the owner of {name} is told", LONG)


def test_unscheduled_pods_are_reported_to_the_owner_with_the_reason(q: Quotree) -> None:
    q.lead(startup={"timeout": "20s"})
    q.group("vision", quotas=[quota(min="8")])
    q.job("placed", "vision")
    q.job("nowhere", "vision", pods=2, pod=NOWHERE)
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    alone: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "alone", "labels": {GROUP_LABEL: "vision"}},
        "spec": {"schedulingGates": [{"name": GATE}], "containers": [container], **NOWHERE},
    }
    q.create(PODS, alone)
    for name, number in (("nowhere", "2 of its pods have"), ("alone", "1 of its pods has")):
        note = events_of(q, name)
        assert f"'default/{name}' was started and does not run: {number} no node (0/1 nodes are available: " in note
        assert "didn't match Pod's node affinity/selector" in note
    assert q.running() == {"placed", "nowhere"}
    assert len(q.pods_on_nodes("placed")) == 1
    assert "NotPlaced" not in reasons(q, "placed")


def test_eviction_of_unready_pods_names_the_scheduling_failure(q: Quotree) -> None:
    q.lead(startup={"timeout": "20s", "waitForPodsReady": True, "limit": 1})
    q.group("vision", quotas=[quota(min="8")])
    q.job("nowhere", "vision", pod=NOWHERE)
    note = wait_for(lambda: eviction_of(q.get_job("nowhere")), "it is given up", LONG)
    assert note is not None
    assert note["reason"] == "PodsReadyTimeout"
    assert "1 of its pods has no node (0/1 nodes are available: " in note["message"]
