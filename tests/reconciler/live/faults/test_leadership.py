"""A Lease that a previous installation left behind: taken at once if its holder's pod is gone, else waited for."""

import time
from typing import Any

import pytest

from tests.reconciler.reconciler_process import NAMESPACE, Quotree, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


def leave_lease(q: Quotree, holder: str) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    spec: dict[str, Any] = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 3600,
        "renewTime": now,
        "acquireTime": now,
    }
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "quotree-reconciler"}}
    q.create(LEASES, {**body, "spec": spec})


def test_lease_of_a_deleted_pod_is_taken_over(q: Quotree) -> None:
    leave_lease(q, "pod:quotree-reconciler-old_0a1b2c3d_0123456789")
    q.lead()
    assert "lease holder is gone" in q.log.read_text()


@pytest.mark.parametrize("holder", ["pod:still-there_0a1b2c3d", "somewhere-else_0a1b2c3d"], ids=["a pod", "no pod"])
def test_lease_of_a_holder_that_might_run_is_not_taken_over(q: Quotree, holder: str) -> None:
    spec = {"containers": [{"name": "main", "image": "none"}]}
    q.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "still-there"}, "spec": spec})
    try:
        leave_lease(q, holder)
        q.start()
        wait_for(lambda: "Caches synced" in q.log.read_text(), "it stands for election", LONG)
        time.sleep(2)
        assert q.get(f"{LEASES}/quotree-reconciler")["spec"]["holderIdentity"] == holder
    finally:
        q.delete(f"{PODS}/still-there")
