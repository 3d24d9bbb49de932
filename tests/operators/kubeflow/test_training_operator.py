"""What the training operator does with a PyTorchJob, alone and governed by Quotree."""

from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import TRAINING
from tests import operated_stories
from tests.operated import LONG, Labels, Object, Operated, ends_after, named, operated, template
from tests.operated_stories import Governed, governed
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (TRAINING,)
API = "kubeflow.org/v1"
SUSPEND = [{"op": "replace", "path": "/spec/runPolicy/suspend", "value": True}]
RESUME = [{"op": "replace", "path": "/spec/runPolicy/suspend", "value": False}]


@pytest.fixture(scope="module")
def pytorch(control_plane_binaries: Binaries) -> Iterator[Operated]:
    with operated(control_plane_binaries, TRAINING, API, "pytorchjobs") as started:
        yield started


@pytest.fixture(scope="module")
def governed_pytorch(pytorch: Operated) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""

    def manifest(namespace: str, first: Object, second: Object, labels: Labels) -> Object:
        return pytorchjob(namespace, first, second, labels=labels)

    with governed(pytorch, "pytorchjob", manifest, torch, ("spec", "runPolicy", "suspend")) as it:
        yield it


def pytorchjob(namespace: str, master: Object, worker: Object, *, labels: Labels = None, **policy: Any) -> Object:
    """A master and two workers."""
    spec = {
        "runPolicy": policy,
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": master},
            "Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": worker},
        },
    }
    return {"apiVersion": API, "kind": "PyTorchJob", "metadata": named("train", namespace, labels), "spec": spec}


def torch(**given: Any) -> Object:
    """A pod template whose container has the name that the operator looks for."""
    return template(container="pytorch", **given)


def test_suspended_training_job_has_no_pod_and_completes_once_resumed(pytorch: Operated, namespace: str) -> None:
    pytorch.cluster.kubectl("create", "namespace", namespace)
    ends = torch(annotations=ends_after(0))
    pytorch.create(pytorchjob(namespace, ends, ends, suspend=True))
    wait_for(lambda: pytorch.condition(namespace, "train", "Suspended") == "True", "it says that it is", LONG)
    assert pytorch.pods(namespace) == []
    pytorch.patch(namespace, "train", RESUME)
    wait_for(lambda: pytorch.condition(namespace, "train", "Succeeded") == "True", "it has succeeded", LONG)


def test_training_job_suspended_while_running_moves_to_the_nodes_of_its_templates(
    pytorch: Operated, namespace: str
) -> None:
    pytorch.cluster.kubectl("create", "namespace", namespace)
    pytorch.create(pytorchjob(namespace, torch(), torch()))
    wait_for(lambda: len(list(filter(None, pytorch.nodes(namespace)))) == 3, "all run", LONG)
    pytorch.patch(namespace, "train", SUSPEND)
    wait_for(lambda: pytorch.pods(namespace) == [], "all have ended", LONG)
    pytorch.operator.kill()
    pytorch.operator.start()
    master, worker = (f"/spec/pytorchReplicaSpecs/{each}/template/spec/nodeSelector" for each in ("Master", "Worker"))
    placement = [
        {"op": "add", "path": master, "value": {"model": "t4"}},
        {"op": "add", "path": worker, "value": {"model": "a100"}},
    ]
    pytorch.patch(namespace, "train", [*placement, *RESUME])
    wait_for(lambda: pytorch.nodes(namespace) == ["a100-0", "a100-0", "t4-0"], "they run where they should", LONG)


def test_each_pod_set_of_a_training_job_starts_on_its_own_flavor(governed_pytorch: Governed, namespace: str) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(governed_pytorch, namespace, "Succeeded")


def test_training_job_is_reclaimed_whole_and_starts_on_another_flavor(
    governed_pytorch: Governed, namespace: str
) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(governed_pytorch, namespace)
