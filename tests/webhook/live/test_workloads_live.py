"""Through the real API server: Jobs and pods are held, placed, started only by the reconciler, denied with messages."""

import json
from typing import Any

import pytest

from reconciler.write import patches
from shared.api.annotations import AdmissionAnnotation, write_annotation
from shared.api.core.job import read_job
from shared.api.core.pod import read_pod
from shared.api.names import ADMISSION, GROUP_LABEL, MAIN_POD_SET
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor
from tests.metric_sums import sum_of
from tests.versions import skip_before
from tests.webhook.webhook_process import JOBS, RECONCILER, REVIEWS, AdmissionSetup, job_body, wait_for, words
from tests.webhook.workloads.review_builders import A100, NOON, T4

GATE = {"name": "quotree.dev/admission"}
FLAVORS = {"a100": read_flavor(A100), "t4": read_flavor(T4), "default": Flavor("default")}
AS_RECONCILER = ("--as", RECONCILER, "--as-group", "system:masters")


def admitted(flavor: str) -> str:
    return write_annotation(AdmissionAnnotation(flavors={"cpu": flavor}, time=NOON))


def create(
    admission: AdmissionSetup, name: str, group: str | None, namespace: str = "default", **spec: Any
) -> dict[str, Any]:
    return admission.create(JOBS.format(namespace), job_body(name, group, **spec))


def patch(
    admission: AdmissionSetup,
    kind: str,
    name: str,
    body: Any,
    *who: str,
    form: str = "merge",
    namespace: str = "default",
) -> str:
    """Patch it as a person (admin) or as who is named; what kubectl says."""
    where = ("-n", namespace, f"--type={form}", "-p", json.dumps(body))
    return words(admission.control_plane.kubectl("patch", kind, name, *where, *who, check=False))


def start(admission: AdmissionSetup, name: str, flavor: str, namespace: str = "default") -> str:
    """As the reconciler does it: one guarded JSON Patch."""
    seen = read_job(admission.job(name, namespace))
    group = seen.metadata.labels[GROUP_LABEL]
    operations = patches.start_job(seen, group, {ADMISSION: admitted(flavor)}, [FLAVORS[flavor]])
    return patch(admission, "job", name, operations, *AS_RECONCILER, form="json", namespace=namespace)


def release(admission: AdmissionSetup, name: str, flavor: str) -> str:
    """The same with a pod."""
    seen = read_pod(admission.get(f"/api/v1/namespaces/default/pods/{name}")[1])
    group = seen.metadata.labels[GROUP_LABEL]
    operations = patches.start_pod(seen, group, MAIN_POD_SET, {ADMISSION: admitted(flavor)}, [FLAVORS[flavor]])
    return patch(admission, "pod", name, operations, *AS_RECONCILER, form="json")


def test_job_is_held_placed_and_labelled_at_creation(admission: AdmissionSetup) -> None:
    made = create(admission, "held", "vision")
    assert made["spec"]["suspend"] is True
    assert made["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "a100"}
    assert made["spec"]["template"]["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def test_namespace_label_makes_jobs_and_pods_managed_and_others_run(admission: AdmissionSetup) -> None:
    admission.create("/api/v1/namespaces", {"metadata": {"name": "team", "labels": {"quotree.dev/group": "nlp"}}})
    made = create(admission, "by-namespace", None, "team")
    assert (made["spec"]["suspend"], made["metadata"]["labels"]) == (True, {"quotree.dev/group": "nlp"})
    assert create(admission, "unmanaged", None)["spec"]["suspend"] is False


def test_jobs_of_a_cron_job_are_held(admission: AdmissionSetup) -> None:
    labels = {"quotree.dev/group": "vision"}
    template = {"metadata": {"labels": labels}, "spec": job_body("x", None)["spec"]}
    body = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": template}}
    admission.create(
        "/apis/batch/v1/namespaces/default/cronjobs", {"apiVersion": "batch/v1", "kind": "CronJob", **body}
    )
    admission.control_plane.kubectl("create", "job", "by-cron", "--from=cronjob/nightly")
    assert admission.job("by-cron")["spec"]["suspend"] is True


def test_user_can_neither_start_a_held_job_nor_forge_its_admission(admission: AdmissionSetup) -> None:
    create(admission, "mine", "nlp")
    assert patch(admission, "job", "mine", {"spec": {"suspend": False}}) == (
        "Job 'mine' spec.suspend: only Quotree's reconciler starts managed workloads: leave spec.suspend as it "
        "is, and out of "
        "the manifest; it starts when group nlp has room (OnlyReconcilerStarts)"
    )
    assert patch(
        admission, "job", "mine", {"metadata": {"annotations": {"quotree.dev/admission": admitted("t4")}}}
    ) == (
        "Job 'mine' metadata.annotations[quotree.dev/admission]: annotation quotree.dev/admission is "
        "written by Quotree "
        "alone; leave it out (ReservedAnnotation)"
    )
    assert admission.job("mine")["spec"]["suspend"] is True


def test_denials_have_the_right_status_code(admission: AdmissionSetup) -> None:
    assert admission.try_job(job_body("a", "absent"))[0] == 422
    assert admission.try_job(job_body("a", "old"))[0] == 403
    status, answer = admission.control_plane.rest.request(
        "POST", JOBS.format("default"), body=job_body("a", "research")
    )
    assert (status, answer["reason"], answer["code"]) == (422, "Invalid", 422)
    assert answer["message"] == (
        "admission webhook \"labelled.jobs.quotree.dev\" denied the request: Job 'a' "
        "metadata.labels[quotree.dev/group]: group research holds groups, not workloads; name one of its "
        "leaves: nlp, vision "
        "(GroupNotLeaf)"
    )


def test_dry_run_gives_the_same_response_and_stores_nothing(admission: AdmissionSetup) -> None:
    body = json.dumps(job_body("tried", "vision"))
    done = admission.control_plane.kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", input=body)
    assert json.loads(done.stdout)["spec"]["suspend"] is True
    assert admission.get(f"{JOBS.format('default')}/tried")[0] == 404


def test_reconciler_starts_a_job_in_another_flavor_after_an_eviction(admission: AdmissionSetup) -> None:
    skip_before(36, admission.control_plane, "a start time reset by the Job controller")
    create(admission, "roundtrip", "nlp")
    assert start(admission, "roundtrip", "a100") == "job.batch/roundtrip patched"
    started = admission.job("roundtrip")
    assert (started["spec"]["suspend"], started["spec"]["template"]["spec"]["nodeSelector"]) == (False, {"gpu": "a100"})
    wait_for(lambda: admission.job("roundtrip")["status"].get("startTime"), "the Job controller started it")
    evicted = [
        {"op": "replace", "path": "/spec/suspend", "value": True},
        {"op": "remove", "path": "/metadata/annotations/quotree.dev~1admission"},
    ]
    assert patch(admission, "job", "roundtrip", evicted, *AS_RECONCILER, form="json") == "job.batch/roundtrip patched"
    wait_for(lambda: not admission.job("roundtrip")["status"].get("startTime"), "the Job controller stopped it")
    assert start(admission, "roundtrip", "t4") == "job.batch/roundtrip patched"
    restarted = admission.job("roundtrip")
    assert restarted["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "t4"}
    assert "tolerations" not in restarted["spec"]["template"]["spec"]
    assert restarted["metadata"]["labels"] == {"quotree.dev/group": "nlp"}


def test_owner_can_hold_a_running_job_and_lift_the_hold(admission: AdmissionSetup) -> None:
    create(admission, "pause", "nlp")
    start(admission, "pause", "t4")
    assert patch(admission, "job", "pause", {"spec": {"suspend": True}}) == "job.batch/pause patched"
    assert admission.job("pause")["metadata"]["labels"] == {"quotree.dev/group": "nlp", "quotree.dev/hold": "true"}
    assert (
        patch(admission, "job", "pause", {"metadata": {"labels": {"quotree.dev/hold": None}}})
        == "job.batch/pause patched"
    )


def test_label_of_others_is_true_or_false_and_its_end_sets_the_queue_time(admission: AdmissionSetup) -> None:
    create(admission, "scanned", "nlp")
    scan = "hold.quotree.dev/scan"
    assert f"metadata.labels[{scan}]" in patch(admission, "job", "scanned", {"metadata": {"labels": {scan: "maybe"}}})
    for value in ("true", None):
        assert "quotree.dev/requeue" not in admission.job("scanned")["metadata"].get("annotations", {})
        answer = patch(admission, "job", "scanned", {"metadata": {"labels": {scan: value}}})
        assert answer == "job.batch/scanned patched"
    assert "released" in admission.job("scanned")["metadata"]["annotations"]["quotree.dev/requeue"]


def test_running_job_can_neither_grow_nor_change_its_group(admission: AdmissionSetup) -> None:
    create(admission, "grow", "nlp", parallelism=2, completions=4)
    start(admission, "grow", "t4")
    assert patch(admission, "job", "grow", {"spec": {"parallelism": 3}}) == (
        "Job 'grow' spec.parallelism: raises its request while it runs (cpu from 2 to 3); suspend it first, or start "
        "another Job beside it (GrowthWhileRunning)"
    )
    assert patch(admission, "job", "grow", {"spec": {"parallelism": 1}}) == "job.batch/grow patched"
    assert patch(admission, "job", "grow", {"metadata": {"labels": {"quotree.dev/group": "vision"}}}) == (
        "Job 'grow' metadata.labels[quotree.dev/group]: is nlp and cannot become vision while the workload runs; "
        "suspend it first (FrozenWhileRunning)"
    )


def test_pods_of_a_started_job_run_ungated_with_the_group_label_in_the_template(admission: AdmissionSetup) -> None:
    body = job_body("family", "nlp")
    body["spec"]["template"]["metadata"] = {"labels": {"quotree.dev/group": "nlp"}}
    admission.create(JOBS.format("default"), body)
    start(admission, "family", "default")

    def pods() -> list[Any]:
        selector = "labelSelector=batch.kubernetes.io/job-name%3Dfamily"
        return list(admission.get(f"/api/v1/namespaces/default/pods?{selector}")[1]["items"])

    made = wait_for(pods, "the Job's pod")
    assert "schedulingGates" not in made[0]["spec"]
    wait_for(lambda: pods()[0]["status"]["phase"] == "Running", "the pod runs")


def test_plain_pod_waits_behind_its_gate_until_the_reconciler_releases_it(admission: AdmissionSetup) -> None:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    body = {"metadata": {"name": "plain", "labels": {"quotree.dev/group": "nlp"}}, "spec": {"containers": [container]}}
    made = admission.create("/api/v1/namespaces/default/pods", body)
    assert made["spec"]["schedulingGates"] == [GATE]
    ungated = [{"op": "remove", "path": "/spec/schedulingGates"}]
    assert patch(admission, "pod", "plain", ungated, form="json").endswith("(OnlyReconcilerStarts)")
    assert release(admission, "plain", "t4") == "pod/plain patched"
    released = admission.get("/api/v1/namespaces/default/pods/plain")[1]["spec"]
    assert (released["nodeSelector"], "schedulingGates" in released) == ({"gpu": "t4"}, False)


def test_pod_cannot_be_resized(admission: AdmissionSetup) -> None:
    skip_before(33, admission.control_plane, "the resize of a pod")
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    body = {
        "metadata": {"name": "growing", "labels": {"quotree.dev/group": "nlp"}},
        "spec": {"containers": [container]},
    }
    admission.create("/api/v1/namespaces/default/pods", body)
    assert release(admission, "growing", "t4") == "pod/growing patched"
    larger = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    done = admission.control_plane.kubectl(
        "patch", "pod", "growing", "--subresource=resize", "--type=strategic", "-p", json.dumps(larger), check=False
    )
    assert words(done) == (
        "Pod 'growing' spec.containers: raises its request while it runs (cpu from 1 to 2); start another "
        "pod beside it "
        "(GrowthWhileRunning)"
    )


def test_group_and_its_job_can_be_applied_together(admission: AdmissionSetup) -> None:
    for number in range(20):
        admission.group(f"fresh-{number}", quotas=[{"flavor": "t4", "min": {"cpu": 1}}])
        assert create(admission, f"fresh-{number}", f"fresh-{number}")["spec"]["suspend"] is True


def test_newly_managed_namespace_holds_its_workloads(admission: AdmissionSetup) -> None:
    for number in range(20):
        name = f"new-{number}"
        admission.create("/api/v1/namespaces", {"metadata": {"name": name}})
        labelled = {"metadata": {"labels": {"quotree.dev/group": "nlp"}}}
        admission.control_plane.rest.request(
            "PATCH", f"/api/v1/namespaces/{name}", labelled, "application/merge-patch+json"
        )
        status, message = admission.try_job(job_body("first", None), name)
        # The API server's own view of the namespace may lag: at first it asks nobody, or the second of two questions.
        if status == 201:
            made = admission.job("first", name)
            assert made["spec"]["suspend"] is ("quotree.dev/group" in made["metadata"].get("labels", {}))
        else:
            assert message.endswith("(OnlyReconcilerStarts)")


@pytest.mark.parametrize("way", ["apply", "server-side apply", "replace"])
def test_reapplied_manifest_changes_nothing(admission: AdmissionSetup, way: str) -> None:
    name = f"again-{way.replace(' ', '-')}"
    body = json.dumps({**job_body(name, "vision", suspend=True)})
    forms = {
        "apply": ("apply",),
        "server-side apply": ("apply", "--server-side", "--force-conflicts"),
        "replace": ("replace", "--force"),
    }
    admission.control_plane.kubectl("create", "--save-config", "-f", "-", input=body)
    done = admission.control_plane.kubectl(*forms[way], "-f", "-", input=body, check=False)
    assert (done.returncode, admission.job(name)["spec"]["suspend"]) == (0, True), done.stderr


def test_held_job_can_be_deleted(admission: AdmissionSetup) -> None:
    create(admission, "gone", "vision")
    admission.control_plane.kubectl("delete", "job", "gone", "--wait=true")
    assert admission.get(f"{JOBS.format('default')}/gone")[0] == 404


def test_verdicts_are_counted_by_rule(admission: AdmissionSetup) -> None:
    admission.try_job(job_body("counted", "absent"))
    counted = admission.replicas[0].metrics()
    assert 'quotree_webhook_refusals_total{route="/validate/jobs",rule="GroupAbsent"}' in counted
    assert sum_of(counted, REVIEWS, route="/mutate/jobs", verdict="allowed") > 0
