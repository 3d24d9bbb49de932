"""Which objects are reviewed: a dead webhook does not affect unmanaged workloads, and a policy holds without it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.webhook.live.test_workloads_live import AS_RECONCILER, admitted, patch
from tests.webhook.webhook_process import JOBS, RECONCILER, AdmissionSetup, job_body, wait_for, words

CHART = Path(__file__).parents[3] / "charts" / "quotree"
PODS = "/api/v1/namespaces/{}/pods"


@pytest.fixture(scope="module")
def dead_admission(bare_admission: AdmissionSetup) -> AdmissionSetup:
    """Webhook configurations that call an address without a server."""
    for name, labels in (("managed", {"quotree.dev/managed": "true"}), ("labelled", {"quotree.dev/group": "any"})):
        bare_admission.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    bare_admission.group("any", quotas=[{"min": {"cpu": 1000}}])
    bare_admission.configure(f"https://127.0.0.1:{bare_admission.ports.take()}", quota_objects=True)
    wait_for(lambda: bare_admission.try_job(job_body("probe", "any"))[0] == 500, "managed Jobs are refused")
    wait_for(lambda: _try_group(bare_admission, "?dryRun=All")[0] == 500, "quota objects are refused")
    return bare_admission


def _try_group(admission: AdmissionSetup, query: str = "") -> tuple[int, str]:
    body = {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": "new"}, "spec": {}}
    path = f"/apis/quotree.dev/v1alpha1/quotagroups{query}"
    status, answer = admission.control_plane.rest.request("POST", path, body=body)
    return status, str(answer.get("message", ""))


def pod_body(name: str, group: str | None) -> dict[str, Any]:
    labels = {"quotree.dev/group": group} if group else {}
    spec = {"containers": [{"name": "c", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


@pytest.mark.parametrize(
    ("namespace", "group"),
    [("default", "any"), ("managed", None), ("labelled", None), ("labelled", "any")],
    ids=["own label", "managed namespace", "labelled namespace", "both"],
)
def test_managed_workload_is_refused_while_no_webhook_answers(
    dead_admission: AdmissionSetup, namespace: str, group: str | None
) -> None:
    status, message = dead_admission.try_job(job_body("job", group), namespace)
    assert (status, "failed calling webhook" in message) == (500, True)
    status, answer = dead_admission.control_plane.rest.request(
        "POST", PODS.format(namespace), body=pod_body("pod", group)
    )
    assert (status, "failed calling webhook" in answer["message"]) == (500, True)


@pytest.mark.parametrize(
    ("namespace", "group"),
    [("default", None), ("kube-system", "any"), ("kube-public", "any"), ("quotree-system", "any")],
    ids=["unmanaged", "kube-system", "kube-public", "Quotree's own namespace"],
)
def test_unmanaged_objects_are_created_without_the_webhook(
    dead_admission: AdmissionSetup, namespace: str, group: str | None
) -> None:
    assert dead_admission.try_job(job_body("free", group), namespace) == (201, "")
    assert dead_admission.create(PODS.format(namespace), pod_body("free", group))["spec"].get("schedulingGates") is None


def test_quota_objects_are_refused_while_no_webhook_answers(dead_admission: AdmissionSetup) -> None:
    status, message = _try_group(dead_admission)
    assert (status, "failed calling webhook" in message) == (500, True)


@pytest.fixture(scope="module")
def guarded(
    control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AdmissionSetup]:
    """No webhook at all, and the chart's policy alone."""
    with cluster.start(control_plane_binaries, nodes=[]) as control_plane:
        admission = AdmissionSetup(control_plane, Path(tmp_path_factory.mktemp("policy")))
        wishes = ("-n", "quotree-system", "--set", f"reconciler.user={RECONCILER}")
        shown = ("--show-only", "templates/policies/only-the-reconciler-starts.yaml")
        for each in yaml.load_all(
            control_plane.helm("template", "quotree", str(CHART), *wishes, *shown).stdout, Loader=yaml.CSafeLoader
        ):
            if each:
                control_plane.apply(yaml.safe_dump(each))
        wait_for(lambda: admission.try_job(job_body("probe", "any"))[0] == 403, "the policy is in force")
        yield admission
        admission.close()


def refusal_of(admission: AdmissionSetup, body: Any) -> str:
    return words(admission.control_plane.kubectl("create", "-f", "-", input=json.dumps(body), check=False))


def test_no_running_job_can_be_created_without_the_webhook(guarded: AdmissionSetup) -> None:
    assert "only Quotree's reconciler starts a Job" in refusal_of(guarded, job_body("running", "any"))
    assert refusal_of(guarded, job_body("waiting", "any", suspend=True)) == "job.batch/waiting created"
    assert refusal_of(guarded, job_body("unmanaged", None)) == "job.batch/unmanaged created"


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public"])
def test_policy_leaves_system_namespaces_alone(guarded: AdmissionSetup, namespace: str) -> None:
    assert guarded.try_job(job_body("running", "any"), namespace) == (201, "")


def test_no_admission_can_be_forged_at_creation_without_the_webhook(guarded: AdmissionSetup) -> None:
    body = job_body("forged", "any", suspend=True)
    body["metadata"]["annotations"] = {"quotree.dev/admission": admitted("t4")}
    assert "is written by Quotree's reconciler alone" in refusal_of(guarded, body)


def test_only_the_reconciler_can_start_a_job_without_the_webhook(guarded: AdmissionSetup) -> None:
    guarded.create(JOBS.format("default"), job_body("held", "any", suspend=True))
    forged = {"metadata": {"annotations": {"quotree.dev/admission": admitted("t4")}}}
    started = {"spec": {"suspend": False}, **forged}
    assert "only Quotree's reconciler starts a Job" in patch(guarded, "job", "held", {"spec": {"suspend": False}})
    assert "is written by Quotree's reconciler alone" in patch(guarded, "job", "held", forged)
    assert patch(guarded, "job", "held", started, *AS_RECONCILER) == "job.batch/held patched"
    assert guarded.job("held")["spec"]["suspend"] is False


def test_only_the_reconciler_can_remove_the_gate_without_the_webhook(guarded: AdmissionSetup) -> None:
    body = pod_body("gated", "any")
    body["spec"]["schedulingGates"] = [{"name": "quotree.dev/admission"}]
    guarded.create(PODS.format("default"), body)
    ungated = [{"op": "remove", "path": "/spec/schedulingGates"}]
    assert "only Quotree's reconciler removes the scheduling gate" in patch(
        guarded, "pod", "gated", ungated, form="json"
    )
    assert patch(guarded, "pod", "gated", ungated, *AS_RECONCILER, form="json") == "pod/gated patched"
