"""Deployments, ReplicaSets, StatefulSets, DaemonSets and CronJobs under quota, with Kubernetes' own controllers.

Their templates carry what the webhook would write: the gate and the group on pods, `suspend` on a CronJob's Jobs.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from shared.api.names import GATE, GROUP_LABEL
from tests.preloaded import Preloaded
from tests.reconciler.conftest import NODES
from tests.reconciler.live.pods.test_pods import held, placed
from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
APPS = "/apis/apps/v1/namespaces/default"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"

CONTROLLERS = (
    *cluster.DEFAULT_CONTROLLERS,
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
)


@pytest.fixture(scope="module")
def with_controllers(control_plane_binaries: binaries.Binaries) -> Iterator[cluster.ControlPlane]:
    with cluster.start(control_plane_binaries, nodes=NODES, controllers=CONTROLLERS) as control_plane:
        Quotree(control_plane, control_plane.workdir).install()
        yield control_plane


@pytest.fixture
def q(with_controllers: cluster.ControlPlane, preloaded: Preloaded, tmp_path: Path) -> Iterator[Quotree]:
    quotree = Quotree(with_controllers, tmp_path, preloaded=preloaded)
    try:
        yield quotree
    finally:
        print(quotree.say())
        quotree.clear(keep={node.name for node in NODES})


def controller(kind: str, **spec: Any) -> dict[str, Any]:
    """One named `web` whose pods request 1 cpu each."""
    labels = {"app": "web", GROUP_LABEL: "vision"}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": labels},
        "spec": {"schedulingGates": [{"name": GATE}], "containers": [container], "terminationGracePeriodSeconds": 0},
    }
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": spec}


def test_deployment_runs_as_many_pods_as_fit_and_evicted_pods_wait(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="2")])
    q.create(f"{APPS}/deployments", controller("Deployment", replicas=3))
    try:
        wait_for(lambda: (len(placed(q)), len(held(q))) == (2, 1), "two run, one waits", LONG)
        q.group("vision", quotas=[quota(min="1", max="1")])
        wait_for(lambda: (len(placed(q)), len(held(q))) == (1, 2), "one was evicted, its replacement waits", LONG)
        q.merge(f"{APPS}/deployments/web", {"spec": {"replicas": 1}})
        wait_for(lambda: (len(placed(q)), len(held(q))) == (1, 0), "it is scaled down", LONG)
    finally:
        q.delete(f"{APPS}/deployments/web")


def test_evicted_pods_of_a_replica_set_are_created_again_and_wait(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="2")])
    q.create(f"{APPS}/replicasets", controller("ReplicaSet", replicas=3))
    try:
        wait_for(lambda: (len(placed(q)), len(held(q))) == (2, 1), "two run, one waits", LONG)
        q.group("vision", quotas=[quota(min="1", max="1")])
        wait_for(lambda: (len(placed(q)), len(held(q))) == (1, 2), "one was evicted, its replacement waits", LONG)
        q.merge(f"{APPS}/replicasets/web", {"spec": {"replicas": 0}})
        wait_for(lambda: (len(placed(q)), len(held(q))) == (0, 0), "it is scaled down", LONG)
    finally:
        q.delete(f"{APPS}/replicasets/web")


def test_pods_of_a_stateful_set_start_in_order_within_quota(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="2")])
    q.create(f"{APPS}/statefulsets", controller("StatefulSet", replicas=3, serviceName="web"))
    try:
        wait_for(lambda: (set(placed(q)), held(q)) == ({"web-0", "web-1"}, {"web-2"}), "the third waits", LONG)
        q.group("vision", quotas=[quota(min="3", max="3")])
        wait_for(lambda: placed(q).keys() == {"web-0", "web-1", "web-2"}, "it has its quota", LONG)
    finally:
        q.delete(f"{APPS}/statefulsets/web")


def test_pods_of_a_daemon_set_wait_for_quota(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")], stopPolicy="Hold")
    q.create(f"{APPS}/daemonsets", controller("DaemonSet"))
    try:
        wait_for(lambda: len(held(q)) == 1, "one for the node, and it waits", LONG)
        q.group("vision", stopPolicy="None")
        wait_for(lambda: list(placed(q).values()) == ["node-0"], "it runs on its node", LONG)
    finally:
        q.delete(f"{APPS}/daemonsets/web")


def test_jobs_of_a_cron_job_wait_for_quota(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.job("first", "vision", "1")
    wait_for(lambda: "first" in q.running(), "the group is full", LONG)
    made = job_manifest("x", "vision", "1")
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    spec = {"schedule": "* * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": template}
    q.create(CRON_JOBS, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": spec})
    # As one that has run before: its time has come at once.
    last = (datetime.now(UTC) - timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    q.merge(f"{CRON_JOBS}/tick/status", {"status": {"lastScheduleTime": last}})
    try:
        wait_for(lambda: [name for name in q.jobs() if name.startswith("tick-")], "its Job is there", 150)
        assert q.running() == {"first"}
        q.delete("/apis/batch/v1/namespaces/default/jobs/first")
        wait_for(lambda: any(name.startswith("tick-") for name in q.running()), "it has its turn", LONG)
    finally:
        q.delete(f"{CRON_JOBS}/tick")
