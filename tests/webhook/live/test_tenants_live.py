"""What a tenant with the role `edit` in its own namespace cannot do to managed workloads, at the chart's defaults."""

import json
from typing import Any

import pytest

from tests.webhook.webhook_process import AdmissionSetup, job_body, words

TENANT = ("--as", "mallory", "--as-group", "system:authenticated")
TEAM = "tenant"
BOUND = "bound"
KIB = 1024
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def tenant(bare_admission: AdmissionSetup) -> AdmissionSetup:
    """One group, and a namespace in which mallory has the role `edit`."""
    bare_admission.flavor("default")
    bare_admission.group("vision", quotas=[{"min": {"cpu": 8}, "max": {"cpu": 8}}])
    bare_admission.group("team", isParent=True, namespaceSelector={"matchLabels": {"team": "red"}})
    bare_admission.group("reds", "team")
    bare_admission.create("/api/v1/namespaces", {"metadata": {"name": TEAM}})
    bare_admission.create(
        "/api/v1/namespaces", {"metadata": {"name": BOUND, "labels": {"quotree.dev/group": "vision"}}}
    )
    for namespace in (TEAM, BOUND):
        binding = ("create", "rolebinding", "mallory", "-n", namespace, "--clusterrole=edit", "--user=mallory")
        bare_admission.control_plane.kubectl(*binding)
    bare_admission.open()
    return bare_admission


def create(setup: AdmissionSetup, body: dict[str, Any], namespace: str = TEAM) -> str:
    """What kubectl says when the tenant creates this."""
    return words(
        setup.control_plane.kubectl("create", "-n", namespace, "-f", "-", *TENANT, input=json.dumps(body), check=False)
    )


def patch(setup: AdmissionSetup, name: str, change: dict[str, Any]) -> str:
    """What kubectl says when the tenant changes the Job."""
    arguments = ("patch", "job", name, "-n", TEAM, "--type=merge", "--patch-file=/dev/stdin", *TENANT)
    return words(setup.control_plane.kubectl(*arguments, input=json.dumps(change), check=False))


def test_annotations_cannot_use_up_the_space_for_an_eviction(tenant: AdmissionSetup) -> None:
    assert create(tenant, job_body("hog", "vision")) == "job.batch/hog created"
    full = {"metadata": {"annotations": {"padding": "x" * (255 * KIB)}}}
    message = patch(tenant, "hog", full)
    assert "metadata.annotations: has 261127 bytes, a managed workload has at most 196608" in message
    below = {"metadata": {"annotations": {"padding": "x" * (191 * KIB)}}}
    assert patch(tenant, "hog", below) == "job.batch/hog patched"


def test_huge_affinity_is_refused_with_its_size(tenant: AdmissionSetup) -> None:
    expression = {"key": "zone", "operator": "In", "values": [f"z{at}" for at in range(1000)]}
    terms = [{"matchExpressions": [expression]} for _ in range(60)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    message = create(tenant, job_body("wide", "vision", pod={"affinity": {"nodeAffinity": required}}))
    assert "spec.affinity: has 60060 required expressions and values, a managed workload has at most 1024" in message


def test_a_huge_object_is_refused(tenant: AdmissionSetup) -> None:
    container = {"name": "c", "image": "none", "args": ["x" * (600 * KIB)]}
    message = create(tenant, job_body("huge", "vision", pod={"containers": [container]}))
    assert "a managed workload has at most 524288; move data into a ConfigMap or an image (ObjectTooLarge)" in message


@pytest.mark.parametrize("verb", ["get", "patch"])
@pytest.mark.parametrize("resource", ["secrets", "configmaps", "quotagroups.quotree.dev"])
def test_edit_role_cannot_change_objects_of_quotree(tenant: AdmissionSetup, verb: str, resource: str) -> None:
    asked = ("auth", "can-i", verb, resource, "-n", "quotree-system", *TENANT)
    assert tenant.control_plane.kubectl(*asked, check=False).stdout.strip() == "no"


def test_group_below_a_selector_cannot_admit_a_namespace_of_another_team(tenant: AdmissionSetup) -> None:
    message = create(tenant, job_body("thief", "reds"))
    assert "the namespaceSelector of team requires team=red; label the namespace so, or name another group" in message
    tried = ("label", "namespace", TEAM, "team=red", *TENANT)
    assert "forbidden" in tenant.control_plane.kubectl(*tried, check=False).stderr


def test_namespace_with_a_group_label_is_restricted_to_it(tenant: AdmissionSetup) -> None:
    message = create(tenant, job_body("elsewhere", "reds"), BOUND)
    assert "namespace bound is bound to group vision by its own label; name vision or a leaf below it" in message
    assert create(tenant, job_body("at-home", None), BOUND) == "job.batch/at-home created"


def test_released_or_enlarged_placeholder_job_gets_a_new_queue_time(tenant: AdmissionSetup) -> None:
    held = job_body("placeholder", "vision", labels={"quotree.dev/hold": "true"}, parallelism=1, completions=8)
    assert create(tenant, held) == "job.batch/placeholder created"

    def place() -> str:
        return str(tenant.job("placeholder", TEAM)["metadata"].get("annotations", {}).get("quotree.dev/requeue", ""))

    assert place() == ""
    assert patch(tenant, "placeholder", {"spec": {"parallelism": 8}}) == "job.batch/placeholder patched"
    enlarged = place()
    assert patch(tenant, "placeholder", {"metadata": {"labels": {"quotree.dev/hold": None}}}).endswith("patched")
    assert "" < enlarged < place()
    forged = {"metadata": {"annotations": {"quotree.dev/requeue": enlarged}}}
    assert "(ReservedAnnotation)" in patch(tenant, "placeholder", forged)


def test_ended_pod_stays_in_the_account_of_its_group(tenant: AdmissionSetup) -> None:
    labels = {
        "quotree.dev/group": "vision",
        "quotree.dev/pod-group": "ring",
        "quotree.dev/pod-group-size": "1",
    }
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "over", "labels": labels},
        "spec": {"containers": [container]},
    }
    assert create(tenant, body) == "pod/over created"
    status = ("patch", "pod", "over", "-n", TEAM, "--subresource=status", "--type=merge")
    tenant.control_plane.kubectl(*status, "-p", json.dumps({"status": {"phase": "Succeeded"}}))
    for label in ("group", "pod-group"):
        change = ("label", "pod", "over", "-n", TEAM, "--overwrite", *TENANT)
        for wanted in (f"quotree.dev/{label}=reds", f"quotree.dev/{label}-"):
            assert "charged by this label; leave it as it is (FrozenWhileRunning)" in words(
                tenant.control_plane.kubectl(*change, wanted, check=False)
            )


def test_annotation_written_before_the_group_label_is_not_believed(tenant: AdmissionSetup) -> None:
    claim = json.dumps(
        {"reason": "Reclaimed", "time": "9999-12-31T23:59:00Z", "flavors": {}, "for": {"uid": "x", "flavors": {}}}
    )
    body = job_body("early", None, suspend=True, notes={"quotree.dev/eviction": claim})
    assert create(tenant, body) == "job.batch/early created"
    labelled = {"metadata": {"labels": {"quotree.dev/group": "vision"}}}
    assert "annotation quotree.dev/eviction is written by Quotree alone; leave it out" in patch(
        tenant, "early", labelled
    )
    cleaned = {"metadata": {"labels": {"quotree.dev/group": "vision"}, "annotations": {"quotree.dev/eviction": None}}}
    assert patch(tenant, "early", cleaned) == "job.batch/early patched"
