"""TFJobs governed by Quotree with the training operator, which makes PyTorchJobs' pods by the same code."""

from collections.abc import Iterator

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import TRAINING
from tests import operated_stories
from tests.operated import Labels, Object, named, operated, template
from tests.operated_stories import Governed, governed

OPERATORS = (TRAINING,)
API = "kubeflow.org/v1"


@pytest.fixture(scope="module")
def governed_tf(control_plane_binaries: Binaries) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""

    def pod(**given: object) -> Object:
        return template(container="tensorflow", **given)  # type: ignore[arg-type]

    with (
        operated(control_plane_binaries, TRAINING, API, "tfjobs") as tfjobs,
        governed(tfjobs, "tfjob", tfjob, pod, ("spec", "runPolicy", "suspend")) as it,
    ):
        yield it


def tfjob(namespace: str, chief: Object, worker: Object, labels: Labels) -> Object:
    """A chief and two workers."""
    spec = {
        "tfReplicaSpecs": {
            "Chief": {"replicas": 1, "restartPolicy": "OnFailure", "template": chief},
            "Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": worker},
        }
    }
    return {"apiVersion": API, "kind": "TFJob", "metadata": named("train", namespace, labels), "spec": spec}


def test_each_pod_set_of_a_tfjob_starts_on_its_own_flavor(governed_tf: Governed, namespace: str) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(governed_tf, namespace, "Succeeded")


def test_tfjob_is_reclaimed_whole_and_starts_on_another_flavor(governed_tf: Governed, namespace: str) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(governed_tf, namespace)
