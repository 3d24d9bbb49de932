"""What KubeRay does with a RayCluster, alone and governed by Quotree."""

from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import KUBERAY
from tests import operated_stories
from tests.operated import LONG, Labels, Object, Operated, named, operated, template
from tests.operated_stories import Governed, governed
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (KUBERAY,)
API = "ray.io/v1"
SUSPEND = [{"op": "replace", "path": "/spec/suspend", "value": True}]
RESUME = [{"op": "replace", "path": "/spec/suspend", "value": False}]


@pytest.fixture(scope="module")
def ray(control_plane_binaries: Binaries) -> Iterator[Operated]:
    with operated(control_plane_binaries, KUBERAY, API, "rayclusters") as started:
        yield started


@pytest.fixture(scope="module")
def governed_ray(ray: Operated) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""

    def manifest(namespace: str, first: Object, second: Object, labels: Labels) -> Object:
        return raycluster(namespace, first, second, labels=labels)

    with governed(ray, "raycluster", manifest, template, ("spec", "suspend")) as it:
        yield it


def raycluster(namespace: str, head: Object, worker: Object, *, labels: Labels = None, **spec: Any) -> Object:
    """A head and a group of two workers."""
    group = {"groupName": "workers", "replicas": 2, "minReplicas": 0, "maxReplicas": 4, "rayStartParams": {}}
    spec = {
        "headGroupSpec": {"rayStartParams": {}, "template": head},
        "workerGroupSpecs": [{**group, "template": worker}],
        **spec,
    }
    return {"apiVersion": API, "kind": "RayCluster", "metadata": named("train", namespace, labels), "spec": spec}


def test_suspended_raycluster_has_no_pod_and_runs_at_its_template_placement_once_resumed(
    ray: Operated, namespace: str
) -> None:
    ray.cluster.kubectl("create", "namespace", namespace)
    ray.create(raycluster(namespace, template(), template(), suspend=True))
    wait_for(lambda: _state(ray, namespace) == "suspended", "it says that it is", LONG)
    assert ray.pods(namespace) == []
    _place(ray, namespace, head="t4", worker="a100")
    wait_for(lambda: ray.nodes(namespace) == ["a100-0", "a100-0", "t4-0"], "they run where they should", LONG)
    ray.patch(namespace, "train", SUSPEND)
    wait_for(lambda: ray.pods(namespace) == [], "all have ended", LONG)
    ray.operator.kill()
    ray.operator.start()
    wait_for(lambda: _state(ray, namespace) == "suspended", "it says that it is again", LONG)
    _place(ray, namespace, head="a100", worker="t4")
    wait_for(lambda: ray.nodes(namespace) == ["a100-0", "t4-0", "t4-0"], "they run where they should now", LONG)


def _state(ray: Operated, namespace: str) -> str:
    return str(ray.get(namespace, "train").get("status", {}).get("state", ""))


def _place(ray: Operated, namespace: str, head: str, worker: str) -> None:
    """Resume it with placement, in one patch as the reconciler's."""
    operations = [
        {"op": "add", "path": f"/spec/{group}/template/spec/nodeSelector", "value": {"model": model}}
        for group, model in (("headGroupSpec", head), ("workerGroupSpecs/0", worker))
    ]
    ray.patch(namespace, "train", [*operations, *RESUME])


def test_each_pod_set_of_a_raycluster_starts_on_its_own_flavor(governed_ray: Governed, namespace: str) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(governed_ray, namespace, "")


def test_raycluster_is_reclaimed_whole_and_starts_on_another_flavor(governed_ray: Governed, namespace: str) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(governed_ray, namespace)
