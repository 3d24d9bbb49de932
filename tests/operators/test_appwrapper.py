"""What AppWrapper's operator does with an AppWrapper of a pod and a Job, governed by Quotree."""

from collections.abc import Iterator

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import APPWRAPPER
from tests import operated_stories
from tests.operated import LONG, Labels, Object, named, operated, template
from tests.operated_stories import Governed, entry, governed
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (APPWRAPPER,)
API = "workload.codeflare.dev/v1beta2"


@pytest.fixture(scope="module")
def appwrappers(control_plane_binaries: Binaries) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""
    with (
        operated(control_plane_binaries, APPWRAPPER, API, "appwrappers") as started,
        governed(started, "appwrapper", appwrapper, template) as it,
    ):
        yield it


def appwrapper(namespace: str, driver: Object, worker: Object, labels: Labels) -> Object:
    """A pod, and a Job of two pods."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**driver["metadata"], "name": "train-driver"}}
    pod["spec"] = {**driver["spec"], "restartPolicy": "Never"}
    workers = {**worker, "spec": {**worker["spec"], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train-workers"}}
    job["spec"] = {"parallelism": 2, "completions": 2, "template": workers}
    spec = {"components": [{"template": pod}, {"template": job}]}
    return {"apiVersion": API, "kind": "AppWrapper", "metadata": named("train", namespace, labels), "spec": spec}


def test_each_component_starts_on_its_own_flavor(appwrappers: Governed, namespace: str) -> None:
    operated_stories.starts_each_pod_set_on_its_flavor(appwrappers, namespace, "")


def test_appwrapper_is_reclaimed_whole_and_starts_on_another_flavor(appwrappers: Governed, namespace: str) -> None:
    operated_stories.is_reclaimed_whole_and_starts_on_another_flavor(appwrappers, namespace)


def test_appwrapper_completes(appwrappers: Governed, namespace: str) -> None:
    it = appwrappers
    it.group("ends", quotas=[entry("t4", cpu=3)])
    it.submit(namespace, "ends", template(), template())
    wait_for(lambda: it.operated.nodes(namespace) == ["t4-0"] * 3, "it runs", LONG)
    it.operated.end_pods(namespace)
    wait_for(lambda: it.operated.get(namespace, "train")["status"]["phase"] == "Succeeded", "it has succeeded", LONG)
    wait_for(lambda: it.used("ends") == {}, "its quota is free", LONG)
