"""What the MPI operator does with an MPIJob, alone and governed by Quotree."""

from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import MPI
from tests import operated_stories
from tests.operated import LONG, Labels, Object, Operated, ends_after, named, operated, template
from tests.operated_stories import Governed, governed
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (MPI,)
API = "kubeflow.org/v2beta1"
SUSPEND = [{"op": "replace", "path": "/spec/runPolicy/suspend", "value": True}]
RESUME = [{"op": "replace", "path": "/spec/runPolicy/suspend", "value": False}]


@pytest.fixture(scope="module")
def mpi(control_plane_binaries: Binaries) -> Iterator[Operated]:
    with operated(control_plane_binaries, MPI, API, "mpijobs") as started:
        yield started


@pytest.fixture(scope="module")
def governed_mpi(mpi: Operated) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""

    def manifest(namespace: str, first: Object, second: Object, labels: Labels) -> Object:
        return mpijob(namespace, first, second, labels=labels)

    with governed(mpi, "mpijob", manifest, template, ("spec", "runPolicy", "suspend")) as it:
        yield it


def mpijob(namespace: str, launcher: Object, worker: Object, *, labels: Labels = None, **policy: Any) -> Object:
    """A launcher and two workers; the job has ended when the launcher has."""
    spec = {
        "runPolicy": {"cleanPodPolicy": "All", **policy},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": launcher},
            "Worker": {"replicas": 2, "template": worker},
        },
    }
    return {"apiVersion": API, "kind": "MPIJob", "metadata": named("train", namespace, labels), "spec": spec}


def test_suspended_mpijob_has_a_launcher_without_pods_and_completes_once_resumed(mpi: Operated, namespace: str) -> None:
    mpi.cluster.kubectl("create", "namespace", namespace)
    mpi.create(mpijob(namespace, template(annotations=ends_after(1)), template(), suspend=True))
    wait_for(lambda: mpi.condition(namespace, "train", "Suspended") == "True", "it says that it is", LONG)
    wait_for(lambda: "train-launcher" in mpi.jobs(namespace), "its launcher is there", LONG)
    assert mpi.jobs(namespace)["train-launcher"]["spec"]["suspend"] is True
    assert mpi.pods(namespace) == []
    mpi.patch(namespace, "train", RESUME)
    wait_for(lambda: mpi.condition(namespace, "train", "Succeeded") == "True", "it has succeeded", LONG)
    wait_for(lambda: mpi.pods(namespace) == [], "its workers have ended", LONG)


def test_mpijob_suspended_while_running_moves_to_the_nodes_of_its_templates(mpi: Operated, namespace: str) -> None:
    mpi.cluster.kubectl("create", "namespace", namespace)
    mpi.create(mpijob(namespace, template(), template(), suspend=True))
    _place(mpi, namespace, launcher="t4", worker="a100")
    wait_for(lambda: mpi.nodes(namespace) == ["a100-0", "a100-0", "t4-0"], "they run where they should", LONG)
    mpi.patch(namespace, "train", SUSPEND)
    wait_for(lambda: mpi.pods(namespace) == [], "all have ended", LONG)
    mpi.operator.kill()
    mpi.operator.start()
    _place(mpi, namespace, launcher="a100", worker="t4")
    wait_for(lambda: mpi.nodes(namespace) == ["a100-0", "t4-0", "t4-0"], "they run where they should now", LONG)


def _place(mpi: Operated, namespace: str, launcher: str, worker: str) -> None:
    """Resume it with placement, in one patch as the reconciler's."""
    operations = [
        {"op": "add", "path": f"/spec/mpiReplicaSpecs/{replica}/template/spec/nodeSelector", "value": {"model": model}}
        for replica, model in (("Launcher", launcher), ("Worker", worker))
    ]
    mpi.patch(namespace, "train", [*operations, *RESUME])


def test_each_pod_set_of_an_mpijob_starts_on_its_own_flavor(governed_mpi: Governed, namespace: str) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(governed_mpi, namespace, "Succeeded")


def test_mpijob_is_reclaimed_whole_and_starts_on_another_flavor(governed_mpi: Governed, namespace: str) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(governed_mpi, namespace)
