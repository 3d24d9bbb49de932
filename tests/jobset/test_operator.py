"""What JobSet's own operator does: the facts that the preset `jobset` is written by."""

import pytest

from tests.jobset.jobsets import jobset, replicated
from tests.operated import LONG, Operated, ends_after, template
from tests.reconciler.reconciler_process import wait_for

pytestmark = pytest.mark.timeout(900)
SUSPEND = [{"op": "replace", "path": "/spec/suspend", "value": True}]
RESUME = [{"op": "replace", "path": "/spec/suspend", "value": False}]


@pytest.fixture
def namespace(jobsets: Operated, request: pytest.FixtureRequest) -> str:
    """One of the test's own, which nobody governs."""
    name = request.node.name.replace("_", "-")[:60].rstrip("-")
    jobsets.cluster.kubectl("create", "namespace", name)
    return str(name)


def test_ungoverned_jobset_completes(jobsets: Operated, namespace: str) -> None:
    ends = template(annotations=ends_after(0))
    entries = replicated("driver", ends), replicated("workers", ends, replicas=2, pods=3)
    jobsets.create(jobset(namespace, *entries))
    wait_for(lambda: jobsets.condition(namespace, "train", "Completed") == "True", "it has completed", LONG)
    assert sorted(jobsets.jobs(namespace)) == ["train-driver-0", "train-workers-0", "train-workers-1"]
    assert jobsets.condition(namespace, "train", "Suspended") == ""


def test_suspended_jobset_has_jobs_without_pods_that_get_the_template_placement_at_resume(
    jobsets: Operated, namespace: str
) -> None:
    jobsets.create(jobset(namespace, replicated("workers", replicas=2, pods=2), suspend=True))
    wait_for(lambda: len(jobsets.jobs(namespace)) == 2, "its Jobs are there", LONG)
    wait_for(lambda: jobsets.condition(namespace, "train", "Suspended") == "True", "it says that it is suspended", LONG)
    assert [each["spec"]["suspend"] for each in jobsets.jobs(namespace).values()] == [True, True]
    assert jobsets.pods(namespace) == []

    _place(jobsets, namespace, {"model": "t4"})
    wait_for(lambda: jobsets.nodes(namespace) == ["t4-0"] * 4, "all pods run on t4", LONG)
    wait_for(lambda: jobsets.condition(namespace, "train", "Suspended") == "False", "it says that it is resumed", LONG)

    jobsets.patch(namespace, "train", SUSPEND)
    wait_for(lambda: jobsets.pods(namespace) == [], "all pods have ended", LONG)

    _place(jobsets, namespace, {"model": "a100"})
    wait_for(lambda: jobsets.nodes(namespace) == ["a100-0"] * 4, "all pods run on a100", LONG)


def test_node_selector_removed_from_the_template_stays_in_the_jobs(jobsets: Operated, namespace: str) -> None:
    jobsets.create(jobset(namespace, replicated("workers"), suspend=True))
    _place(jobsets, namespace, {"model": "t4"})
    wait_for(lambda: jobsets.nodes(namespace) == ["t4-0"], "its pod runs on t4", LONG)
    jobsets.patch(namespace, "train", SUSPEND)
    wait_for(lambda: jobsets.pods(namespace) == [], "its pod has ended", LONG)
    _place(jobsets, namespace, {"kubernetes.io/os": "linux"})
    wait_for(lambda: not jobsets.jobs(namespace)["train-workers-0"]["spec"]["suspend"], "it is resumed", LONG)
    job = jobsets.jobs(namespace)["train-workers-0"]
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"model": "t4", "kubernetes.io/os": "linux"}


def test_operator_killed_during_suspension_resumes_the_jobset_after_its_start(
    jobsets: Operated, namespace: str
) -> None:
    jobsets.create(jobset(namespace, replicated("workers", template(annotations=ends_after(0))), suspend=True))
    wait_for(lambda: len(jobsets.jobs(namespace)) == 1, "its Job is there", LONG)
    jobsets.operator.kill()
    jobsets.operator.start()
    jobsets.patch(namespace, "train", RESUME)
    wait_for(lambda: jobsets.condition(namespace, "train", "Completed") == "True", "it has completed", LONG)


def _place(jobsets: Operated, namespace: str, node_labels: dict[str, str]) -> None:
    """Resume it with placement, in one patch as the reconciler's."""
    pod = "/spec/replicatedJobs/0/template/spec/template/spec"
    placement = {"op": "add", "path": f"{pod}/nodeSelector", "value": node_labels}
    jobsets.patch(namespace, "train", [placement, *RESUME])
