"""A RayJob that Quotree governs: KubeRay makes a RayCluster for it, and that cluster's pods.

Its submitter is left out (`HTTPMode`): it comes when Ray's dashboard answers, and no Ray runs here.
"""

from collections.abc import Iterator

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import KUBERAY
from tests import operated_stories
from tests.operated import Labels, Object, named, operated, template
from tests.operated_stories import Governed, governed
from tests.operators.test_kuberay import API, raycluster

OPERATORS = (KUBERAY,)


@pytest.fixture(scope="module")
def rayjobs(control_plane_binaries: Binaries) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""

    def manifest(namespace: str, first: Object, second: Object, labels: Labels) -> Object:
        spec = {
            "entrypoint": "python train.py",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": raycluster(namespace, first, second)["spec"],
        }
        return {"apiVersion": API, "kind": "RayJob", "metadata": named("train", namespace, labels), "spec": spec}

    with (
        operated(control_plane_binaries, KUBERAY, API, "rayjobs") as started,
        governed(started, "rayjob", manifest, template) as it,
    ):
        yield it


def test_each_pod_set_of_a_rayjob_starts_on_its_own_flavor(rayjobs: Governed, namespace: str) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(rayjobs, namespace, "")


def test_rayjob_is_reclaimed_whole_and_starts_on_another_flavor(rayjobs: Governed, namespace: str) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(rayjobs, namespace)
