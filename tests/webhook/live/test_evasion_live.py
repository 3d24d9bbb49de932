"""What a clever user would try, through the real API server: nothing starts, grows or leaves its quota that way."""

import json
from typing import Any

import pytest

from tests.versions import skip_before
from tests.webhook.live.test_workloads_live import admitted, create, patch, start
from tests.webhook.webhook_process import JOBS, AdmissionSetup, job_body, wait_for, words

PODS = "/api/v1/namespaces/{}/pods"
TEAM = "tricky"
NEVER_STARTED = "only Quotree's reconciler starts managed work"


@pytest.fixture(scope="package")
def team(admission: AdmissionSetup) -> AdmissionSetup:
    """A namespace whose label brings all its work into the group nlp."""
    admission.create("/api/v1/namespaces", {"metadata": {"name": TEAM, "labels": {"quotree.dev/group": "nlp"}}})
    return admission


def pod_body(name: str, **metadata: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [container]}}


def pods_of(admission: AdmissionSetup, job: str) -> list[Any]:
    found = admission.get(f"{PODS.format(TEAM)}?labelSelector=batch.kubernetes.io/job-name%3D{job}")[1]["items"]
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


def running(admission: AdmissionSetup, name: str, **spec: Any) -> dict[str, Any]:
    """A Job of the namespace that the reconciler has started, and its first pod."""
    create(admission, name, None, TEAM, **spec)
    assert start(admission, name, "t4", TEAM) == f"job.batch/{name} patched"
    return dict(wait_for(lambda: pods_of(admission, name), "the Job's pod")[0])


def edited(team: AdmissionSetup, kind: str, name: str, change: Any, form: str = "merge") -> str:
    """What kubectl says to a person who patches work of the namespace."""
    return patch(team, kind, name, change, form=form, namespace=TEAM)


RESUMED: dict[str, dict[str, Any]] = {
    "nothing else": {},
    "its group label taken off": {"metadata": {"labels": {"quotree.dev/group": None}}},
    "its admission forged": {"metadata": {"annotations": {"quotree.dev/admission": admitted("t4")}}},
    "no pods asked for": {"spec": {"parallelism": 0}},
    "another group named": {"metadata": {"labels": {"quotree.dev/group": "vision"}}},
    "its end claimed": {"status": {"conditions": [{"type": "Complete", "status": "True"}]}},
}


@pytest.mark.parametrize("beside", RESUMED.values(), ids=RESUMED)
def test_held_job_cannot_be_resumed_by_any_patch(team: AdmissionSetup, beside: dict[str, Any]) -> None:
    name = f"resumed-{list(RESUMED.values()).index(beside)}"
    create(team, name, None, TEAM)
    message = edited(team, "job", name, {**beside, "spec": {"suspend": False, **beside.get("spec", {})}})
    assert NEVER_STARTED in message
    assert team.job(name, TEAM)["spec"]["suspend"] is True


def test_held_job_cannot_be_resumed_by_another_field_manager(team: AdmissionSetup) -> None:
    create(team, "applied", None, TEAM)
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "applied"}, "spec": {"suspend": False}}
    forced = ("apply", "--server-side", "--force-conflicts", "--field-manager=another", "-n", TEAM, "-f", "-")
    message = words(team.control_plane.kubectl(*forced, input=json.dumps(body), check=False))
    assert message.startswith("Job 'applied' spec.suspend: only Quotree's reconciler starts managed work")


def test_held_job_under_deletion_can_neither_be_resumed_nor_relabelled(team: AdmissionSetup) -> None:
    create(team, "leaving", None, TEAM)
    edited(team, "job", "leaving", {"metadata": {"finalizers": ["example.com/stay"]}})
    team.control_plane.kubectl("delete", "job", "leaving", "-n", TEAM, "--wait=false")
    assert NEVER_STARTED in edited(team, "job", "leaving", {"spec": {"suspend": False}})
    forged = {"metadata": {"annotations": {"quotree.dev/admission": admitted("t4")}}}
    assert edited(team, "job", "leaving", forged).endswith("(ReservedAnnotation)")
    assert edited(team, "job", "leaving", {"metadata": {"finalizers": None}}) == "job.batch/leaving patched"


def test_job_created_with_a_finished_status_is_held(team: AdmissionSetup) -> None:
    body = job_body("finished", None)
    body["status"] = {"conditions": [{"type": "Complete", "status": "True"}], "completionTime": "2026-01-01T00:00:00Z"}
    assert team.create(JOBS.format(TEAM), body)["spec"]["suspend"] is True


def test_pod_created_with_a_finished_status_is_gated(team: AdmissionSetup) -> None:
    made = team.create(PODS.format(TEAM), {**pod_body("ended"), "status": {"phase": "Succeeded"}})
    assert made["spec"]["schedulingGates"] == [{"name": "quotree.dev/admission"}]


def test_generated_name_does_not_change_the_review(team: AdmissionSetup) -> None:
    body = job_body("", None)
    body["metadata"] = {"generateName": "made-up-"}
    assert team.create(JOBS.format(TEAM), body)["spec"]["suspend"] is True
    body["metadata"]["labels"] = {"quotree.dev/group": "absent"}
    message = team.try_job(body, TEAM)[1].partition("denied the request: ")[2]
    assert (message.startswith("Job 'made-up-"), "(GroupAbsent)" in message) == (True, True)


UNCOUNTED: dict[str, tuple[dict[str, Any], str]] = {
    "another controller": (
        {"managedBy": "example.com/own"},
        (
            "Job 'foreign' spec.managedBy: its pods are made by example.com/own, and only those that Kubernetes' own "
            "Job controller makes are counted; leave managedBy out (ForeignController)"
        ),
    ),
    "another selector": (
        {"manualSelector": True, "selector": {"matchLabels": {"app": "x"}}, "labelled": {"app": "x"}},
        (
            "Job 'foreign' spec.manualSelector: a selector of its own may match pods that are not counted; leave "
            "manualSelector and selector out (OwnSelector)"
        ),
    ),
}


@pytest.mark.parametrize(("spec", "sentence"), UNCOUNTED.values(), ids=UNCOUNTED)
def test_job_with_uncountable_pods_is_refused(team: AdmissionSetup, spec: dict[str, Any], sentence: str) -> None:
    if "managedBy" in spec:
        skip_before(32, team.control_plane, "managedBy of Jobs")
    labelled = spec.pop("labelled", {})
    body = job_body("foreign", None, **spec)
    body["spec"]["template"]["metadata"] = {"labels": labelled}
    assert team.try_job(body, TEAM)[1].partition("denied the request: ")[2] == sentence


def test_pod_attached_to_a_started_job_by_a_user_is_gated(team: AdmissionSetup) -> None:
    uid = running(team, "host")["metadata"]["ownerReferences"][0]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "host", "uid": uid, "controller": True}
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "host"}
    body = pod_body("parasite", labels=labels, ownerReferences=[owner])
    body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    body["spec"]["terminationGracePeriodSeconds"] = 86400
    made = team.create(PODS.format(TEAM), body)
    assert made["spec"]["schedulingGates"] == [{"name": "quotree.dev/admission"}]


def test_pod_cannot_be_resized_by_an_autoscaler_in_kube_system(team: AdmissionSetup) -> None:
    skip_before(33, team.control_plane, "the resize of a pod")
    pod = running(team, "autoscaled")["metadata"]["name"]
    account = "system:serviceaccount:kube-system:vpa-updater"
    kubectl = team.control_plane.kubectl
    kubectl("create", "clusterrole", "resizes", "--verb=get,patch", "--resource=pods,pods/resize")
    kubectl("create", "clusterrolebinding", "resizes", "--clusterrole=resizes", f"--user={account}")
    larger = json.dumps({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "8"}}}]}})
    resize = (
        "patch",
        "pod",
        pod,
        "-n",
        TEAM,
        "--as",
        account,
        "--subresource=resize",
        "--type=strategic",
        "-p",
        larger,
    )

    def answer() -> str:
        message = words(kubectl(*resize, check=False))
        return "" if "cannot patch" in message or "cannot get" in message else message

    assert "(cpu from 1 to 8)" in wait_for(answer, "it has the right")


@pytest.mark.parametrize(
    "change",
    [
        {"ownerReferences": None},
        {"labels": {"batch.kubernetes.io/controller-uid": None}},
        {"labels": {"batch.kubernetes.io/controller-uid": "another"}},
    ],
    ids=["owner", "label removed", "label changed"],
)
def test_pod_cannot_be_detached_from_its_job(team: AdmissionSetup, change: dict[str, Any]) -> None:
    name = f"cut-{len(json.dumps(change))}"
    pod = running(team, name)["metadata"]["name"]
    message = edited(team, "pod", pod, {"metadata": change})
    assert message == (
        f"Pod '{pod}' metadata: its Job accounts for it; leave its owner and its label "
        "batch.kubernetes.io/controller-uid as they are (JobChanged)"
    )
    harmless = {"metadata": {"labels": {"seen": "yes"}}}
    assert edited(team, "pod", pod, harmless) == f"pod/{pod} patched"


def test_template_of_a_held_job_cannot_get_quotree_annotations_later(team: AdmissionSetup) -> None:
    create(team, "template", None, TEAM)
    forged = {"spec": {"template": {"metadata": {"annotations": {"quotree.dev/admission": admitted("t4")}}}}}
    assert edited(team, "job", "template", forged) == (
        "Job 'template' spec.template.metadata.annotations[quotree.dev/admission]: annotation quotree.dev/admission is "
        "written by Quotree alone; leave it out (ReservedAnnotation)"
    )
    harmless = {"spec": {"template": {"metadata": {"labels": {"quotree.dev/group": "vision"}}}}}
    assert edited(team, "job", "template", harmless) == "job.batch/template patched"


def test_elastic_job_cannot_grow_completions_and_parallelism_together(team: AdmissionSetup) -> None:
    running(team, "elastic", parallelism=2, completions=2, completionMode="Indexed")
    assert edited(team, "job", "elastic", {"spec": {"parallelism": 3, "completions": 3}}) == (
        "Job 'elastic' spec.parallelism: raises its request while it runs (cpu from 2 to 3); suspend it first, or "
        "start another Job beside it (GrowthWhileRunning)"
    )


def test_pod_of_a_job_cannot_be_resized(team: AdmissionSetup) -> None:
    skip_before(33, team.control_plane, "the resize of a pod")
    pod = running(team, "resized")["metadata"]["name"]
    larger = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "8"}}}]}}
    resize = ("patch", "pod", pod, "-n", TEAM, "--subresource=resize", "--type=strategic", "-p", json.dumps(larger))
    assert "(cpu from 1 to 8)" in words(team.control_plane.kubectl(*resize, check=False))


def test_unlabelled_namespace_keeps_its_managed_workloads(team: AdmissionSetup) -> None:
    team.create("/api/v1/namespaces", {"metadata": {"name": "moving", "labels": {"quotree.dev/group": "nlp"}}})
    create(team, "settled", None, "moving")
    team.control_plane.kubectl("label", "namespace", "moving", "quotree.dev/group-")
    assert NEVER_STARTED in patch(team, "job", "settled", {"spec": {"suspend": False}}, namespace="moving")
    let_out = {"metadata": {"labels": {"quotree.dev/group": None}}, "spec": {"suspend": False}}
    # While the webhook knows the namespace as it was, it gives the label back.
    wait_for(
        lambda: "must not leave its quota" in patch(team, "job", "settled", let_out, namespace="moving"),
        "the webhook knows that the namespace has no label any more",
    )


def test_gated_pod_can_be_neither_bound_nor_assigned_to_a_node(team: AdmissionSetup) -> None:
    team.create(PODS.format(TEAM), pod_body("bound"))
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-0"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "bound"}, "target": target}
    status, message = team.control_plane.rest.request("POST", f"{PODS.format(TEAM)}/bound/binding", body=binding)
    assert (status, "schedulingGates" in message["message"]) == (409, True)
    placed = pod_body("placed")
    placed["spec"]["nodeName"] = "node-0"
    status, message = team.control_plane.rest.request("POST", PODS.format(TEAM), body=placed)
    assert (status, "cannot be set until all schedulingGates have been cleared" in message["message"]) == (422, True)


@pytest.mark.parametrize("form", ["json", "merge", "strategic"])
def test_scheduling_gate_cannot_be_removed_by_any_patch(team: AdmissionSetup, form: str) -> None:
    team.create(PODS.format(TEAM), pod_body(f"gate-{form}"))
    body: Any = {"spec": {"schedulingGates": None}}
    if form == "json":
        body = [{"op": "remove", "path": "/spec/schedulingGates/0"}]
    if form == "strategic":
        body = {"spec": {"schedulingGates": [{"name": "quotree.dev/admission", "$patch": "delete"}]}}
    assert edited(team, "pod", f"gate-{form}", body, form).endswith("(OnlyReconcilerStarts)")


def test_ephemeral_container_is_allowed(team: AdmissionSetup) -> None:
    skip_before(33, team.control_plane, "kubectl patch with the subresource")
    pod = running(team, "debugged")["metadata"]["name"]
    extra = {"spec": {"ephemeralContainers": [{"name": "shell", "image": "none", "targetContainerName": "c"}]}}
    arguments = ("patch", "pod", pod, "-n", TEAM, "--subresource=ephemeralcontainers", "-p", json.dumps(extra))
    assert words(team.control_plane.kubectl(*arguments)) == f"pod/{pod} patched"


def test_empty_group_label_does_not_evade_management(team: AdmissionSetup) -> None:
    made = create(team, "empty", None, TEAM, labels={"quotree.dev/group": ""})
    assert (made["spec"]["suspend"], made["metadata"]["labels"]) == (True, {"quotree.dev/group": "nlp"})
    message = team.try_job(job_body("empty", None, labels={"quotree.dev/group": ""}))[1]
    assert message.partition("denied the request: ")[2] == (
        "Job 'empty' metadata.labels[quotree.dev/group]: is empty; name a group, or leave the label out (GroupAbsent)"
    )


def test_reapplied_manifest_with_suspend_holds_a_running_job(team: AdmissionSetup) -> None:
    for name, message in (("silent", {}), ("outspoken", {"suspend": True})):
        body = json.dumps(job_body(name, None, **message))
        team.control_plane.kubectl("create", "--save-config", "-n", TEAM, "-f", "-", input=body)
        assert start(team, name, "t4", TEAM) == f"job.batch/{name} patched"
        team.control_plane.kubectl("apply", "-n", TEAM, "-f", "-", input=body)
    assert team.job("silent", TEAM)["spec"]["suspend"] is False
    held = team.job("outspoken", TEAM)
    assert (held["spec"]["suspend"], held["metadata"]["labels"]["quotree.dev/hold"]) == (True, "true")
