"""What the trainer does with a TrainJob, alone and with the JobSets that it makes governed by Quotree."""

from collections.abc import Iterator, Mapping

import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import installed
from dev.operators.recipe import JOBSET, TRAINER
from dev.operators.running import running
from tests.jobset.jobsets import API as JOBSETS
from tests.operated import LONG, Object, Operated, ends_after, named, operated, template
from tests.operated_stories import FLAVORS
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (JOBSET, TRAINER)
API = "trainer.kubeflow.org/v1alpha1"


@pytest.fixture(scope="module")
def trainer(control_plane_binaries: Binaries) -> Iterator[Operated]:
    """With a runtime whose pods end after three seconds, and one whose pods do not."""
    with (
        operated(control_plane_binaries, JOBSET, JOBSETS, "jobsets") as jobsets,
        running(TRAINER, jobsets.cluster) as process,
    ):
        jobsets.cluster.apply(yaml.safe_dump_all([runtime("short", ends_after(3)), runtime("endless", {})]))
        yield Operated(jobsets.cluster, process, TRAINER.user, API, "trainjobs")


def runtime(name: str, ends: Mapping[str, str]) -> Object:
    """A ClusterTrainingRuntime of two nodes."""
    pod = template(container="node", annotations=ends)
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": step}, "spec": {"template": pod}}}
    spec = {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [node]}}}
    metadata = {"name": name, "labels": {"trainer.kubeflow.org/framework": "plain"}}
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": metadata, "spec": spec}


def trainjob(namespace: str, runtime_name: str = "short", *, suspend: bool = False) -> Object:
    """One of that runtime."""
    spec = {"runtimeRef": {"name": runtime_name}, "suspend": suspend}
    return {"apiVersion": API, "kind": "TrainJob", "metadata": named("train", namespace), "spec": spec}


def test_suspended_trainjob_suspends_its_jobset_and_completes_once_resumed(trainer: Operated, namespace: str) -> None:
    trainer.cluster.kubectl("create", "namespace", namespace)
    trainer.create(trainjob(namespace, suspend=True))
    wait_for(lambda: len(trainer.jobs(namespace)) == 1, "its JobSet has a Job", LONG)
    assert trainer.cluster.get("jobset", "train", "-n", namespace)["spec"]["suspend"] is True
    assert trainer.pods(namespace) == []
    trainer.patch(namespace, "train", [{"op": "replace", "path": "/spec/suspend", "value": False}])
    wait_for(lambda: trainer.condition(namespace, "train", "Complete") == "True", "it has completed", LONG)


@pytest.fixture(scope="module")
def governed_trainer(trainer: Operated) -> Iterator[Operated]:
    """Quotree governs JobSets, and TrainJobs through them."""
    kinds: list[Object] = [{"preset": "jobset", "operators": [JOBSET.user]}, {"preset": "trainjob"}]
    with installed(trainer.cluster, kinds=kinds):
        trainer.cluster.kubectl("apply", "--server-side", "-f", "-", input=FLAVORS)
        yield trainer


def stop(it: Operated, policy: str) -> None:
    """Set the stopPolicy of the group, which has room for one TrainJob."""
    spec = {"quotas": [{"flavor": "a100", "min": {"cpu": 2}}], "stopPolicy": policy}
    body = {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": "train"}, "spec": spec}
    it.cluster.apply(yaml.safe_dump(body))


def managed(it: Operated, namespace: str) -> None:
    """Make a namespace whose work is of that group."""
    it.cluster.kubectl("create", "namespace", namespace)
    it.cluster.kubectl("label", "namespace", namespace, "quotree.dev/group=train")


def pending(it: Operated) -> bool:
    """Whether one workload of the group waits."""
    status = it.cluster.get("quotagroup", "train").get("status", {})
    return bool(status.get("workloads", {}).get("pending") == 1)


def test_jobset_of_a_trainjob_is_held_started_on_its_flavor_and_completes(
    governed_trainer: Operated, namespace: str
) -> None:
    it = governed_trainer
    stop(it, "Hold")
    managed(it, namespace)
    it.create(trainjob(namespace))
    wait_for(lambda: len(it.jobs(namespace)) == 1, "its JobSet has a Job", LONG)
    wait_for(lambda: pending(it), "the JobSet waits", LONG)
    assert it.cluster.get("jobset", "train", "-n", namespace)["spec"]["suspend"] is True
    assert it.pods(namespace) == []
    stop(it, "None")
    wait_for(lambda: it.nodes(namespace) == ["a100-0"] * 2, "it runs where it should", LONG)
    wait_for(lambda: it.condition(namespace, "train", "Complete") == "True", "it has completed", LONG)


def test_jobset_of_a_trainjob_is_stopped_and_restarted_whatever_the_trainer_writes(
    governed_trainer: Operated, namespace: str
) -> None:
    it = governed_trainer
    stop(it, "None")
    managed(it, namespace)
    it.create(trainjob(namespace, "endless"))
    wait_for(lambda: it.nodes(namespace) == ["a100-0"] * 2, "it runs", LONG)
    stop(it, "HoldAndDrain")
    wait_for(lambda: it.pods(namespace) == [], "its pods have ended", LONG)
    it.operator.kill()
    it.operator.start()
    wait_for(lambda: pending(it), "it waits", LONG)
    assert it.pods(namespace) == []
    stop(it, "None")
    wait_for(lambda: it.nodes(namespace) == ["a100-0"] * 2, "it runs again", LONG)
