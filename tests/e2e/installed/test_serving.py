"""Deployments and StatefulSets in a managed namespace: beyond quota, reclaimed, rolled over at full quota."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.kubectl_steps import Asking, Object, group
from tests.reconciler.reconciler_process import wait_for

NAMESPACE = "serving"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def serving(ask: Asking) -> Iterator[Asking]:
    """A managed namespace of its own, deleted with everything in it, and the group `full`."""
    cluster = ask.quotree.cluster
    namespace = {"metadata": {"name": NAMESPACE, "labels": {"quotree.dev/managed": "true"}}}
    cluster.apply(yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", **namespace}))
    yield ask
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=true")
    deletion = ("delete", "quotagroup", "full", "--ignore-not-found")
    wait_for(lambda: cluster.kubectl(*deletion, check=False).returncode == 0, "its pods are known to be gone")


def server(kind: str, group_name: str, replicas: int, **spec: Any) -> Object:
    """One named `web` whose pods request one cpu each."""
    container = {"name": "main", "image": "first", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": {"app": "web", "quotree.dev/group": group_name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
    }
    metadata = {"name": "web", "namespace": NAMESPACE}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def pods(ask: Asking) -> list[Object]:
    """The pods that are not deleted."""
    found = ask.quotree.cluster.get("pods", "-n", NAMESPACE)["items"]
    return [each for each in found if not each["metadata"].get("deletionTimestamp")]


def ready(ask: Asking, image: str = "") -> int:
    """How many pods serve, of all or of one image."""
    return sum(
        each["spec"]["containers"][0]["image"].startswith(image)
        and any(
            reported["type"] == "Ready" and reported["status"] == "True"
            for reported in each["status"].get("conditions", [])
        )
        for each in pods(ask)
    )


def waiting(ask: Asking) -> int:
    """How many pods carry the gate."""
    return sum(bool(each["spec"].get("schedulingGates")) for each in pods(ask))


def test_borrowing_pods_of_a_deployment_are_reclaimed_within_its_disruption_budget(
    serving: Asking,
) -> None:
    cluster = serving.quotree.cluster
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"minAvailable": 4, "selector": {"matchLabels": {"app": "web"}}},
    }
    cluster.apply(yaml.safe_dump_all([budget, server("Deployment", "vision", replicas=10)]))
    serving.until("eight serve, borrowed, and two wait", lambda: (ready(serving), waiting(serving)) == (8, 2))
    serving.until(
        "the budget counts them",
        lambda: cluster.get("pdb", "web", "-n", NAMESPACE)["status"].get("currentHealthy") == 8,
    )
    serving.submit("lender", "language", cpu=4)
    served = [ready(serving)]

    def lent() -> bool:
        served.append(ready(serving))
        return bool(serving.node_of("lender"))

    serving.until("the lender runs", lent)
    assert min(served) >= 4
    serving.until("four serve and the others wait", lambda: (ready(serving), waiting(serving)) == (4, 6))
    cluster.kubectl("scale", "deployment/web", "-n", NAMESPACE, "--replicas=3")
    serving.until("it is scaled down", lambda: (ready(serving), waiting(serving)) == (3, 0))


def test_a_deployment_at_full_quota_rolls_over_without_a_surge(serving: Asking) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    _fill(serving, server("Deployment", "full", replicas=3, strategy=strategy))
    serving.quotree.cluster.kubectl("set", "image", "deployment/web", "main=second", "-n", NAMESPACE)
    serving.until("all serve the new image", lambda: (ready(serving, "second"), len(pods(serving))) == (3, 3))


def test_a_stateful_set_at_full_quota_rolls_over(serving: Asking) -> None:
    _fill(serving, server("StatefulSet", "full", replicas=3, serviceName="web"))
    serving.quotree.cluster.kubectl("set", "image", "statefulset/web", "main=second", "-n", NAMESPACE)
    serving.until("all serve the new image", lambda: (ready(serving, "second"), len(pods(serving))) == (3, 3))


def test_deployment_without_unavailable_pods_waits_at_full_quota_until_quota_is_free(serving: Asking) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    _fill(serving, server("Deployment", "full", replicas=3, strategy=strategy))
    serving.quotree.cluster.kubectl("set", "image", "deployment/web", "main=second", "-n", NAMESPACE)
    serving.until("the new pod waits", lambda: (ready(serving, "first"), waiting(serving)) == (3, 1))
    patch = '{"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 1}}}}'
    serving.quotree.cluster.kubectl("patch", "deployment/web", "-n", NAMESPACE, "--patch", patch)
    serving.until("all serve the new image", lambda: (ready(serving, "second"), len(pods(serving))) == (3, 3))


def _fill(serving: Asking, manifest: Object) -> None:
    """Run it in a group whose quota it fills."""
    edited = serving.edit_tree(group("full", "research", quotas=[{"flavor": "t4", "max": {"cpu": 3}}]))
    assert edited.returncode == 0, edited.stderr
    serving.quotree.cluster.apply(yaml.safe_dump(manifest))
    serving.until("it fills its quota", lambda: (ready(serving, "first"), waiting(serving)) == (3, 0))
