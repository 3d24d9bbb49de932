"""What an administrator restricts beside quota, against two tenants with the role `edit` in their own namespaces."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.preloaded import Preloaded
from tests.versions import skip_before
from tests.webhook.control_planes import built
from tests.webhook.webhook_process import AdmissionSetup, job_body, wait_for, words

pytestmark = pytest.mark.timeout(900)
RED, BLUE = "red", "blue"
"""Each is a tenant, its namespace, and the group that it may use."""
SETTINGS = {
    "requireUse": True,
    "priorities": {"root": ["low"]},
    "reclaim": {"maxTerminationGracePeriod": "1m", "longTermination": "Deny"},
    "maxima": {"reclaim": {"notice": "1m"}},
    "gates": [{"name": "scan", "users": ["scanner"]}],
    "workloadPriorities": [{"name": "soon", "value": 5}, {"name": "now", "value": 50, "groups": [BLUE]}],
    "resources": {"devices": {"counted": True}},
}


def granted(setup: AdmissionSetup, name: str, group: str, subject: str) -> None:
    """Give the subject the verb `use` on the group."""
    rule = {"apiGroups": ["quotree.dev"], "resources": ["quotagroups"], "resourceNames": [group], "verbs": ["use"]}
    setup.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
    setup.control_plane.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", subject)


@pytest.fixture(scope="module")
def setup(
    control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded
) -> Iterator[AdmissionSetup]:
    """Groups, tenants, permissions and classes, and the controllers of Deployments beside the usual ones."""
    controllers = (*cluster.DEFAULT_CONTROLLERS, "deployment-controller", "replicaset-controller")
    with built(control_plane_binaries, tmp_path_factory.mktemp("restricted"), preloaded, controllers) as made:
        fill(made)
        made.open(quota=SETTINGS, quota_objects=True)
        yield made


def fill(setup: AdmissionSetup) -> None:
    """What the tests speak of."""
    quotas = [{"min": {"cpu": 4}, "max": {"cpu": 8}}]
    setup.flavor("default")
    for name in (RED, BLUE):
        setup.group(name, quotas=quotas)
        setup.create("/api/v1/namespaces", {"metadata": {"name": name}})
        binding = ("create", "rolebinding", name, "-n", name, "--clusterrole=edit", f"--user={name}")
        setup.control_plane.kubectl(*binding)
        granted(setup, name, name, f"--user={name}")
    setup.group("lab", isParent=True, requireRequests=True, quotas=quotas)
    setup.group("strict", "lab", quotas=quotas)
    granted(setup, "strict", "strict", f"--user={RED}")
    granted(setup, "robots", "strict", "--serviceaccount=blue:robot")
    setup.control_plane.kubectl("create", "serviceaccount", "robot", "-n", BLUE)
    for name in ("low", "top"):
        setup.control_plane.kubectl("create", "priorityclass", name, "--value=10")


def create(setup: AdmissionSetup, tenant: str, body: dict[str, Any]) -> str:
    """What kubectl says when the tenant creates this in its namespace."""
    arguments = ("create", "-n", tenant, "-f", "-", "--as", tenant, "--as-group", "system:authenticated")
    return words(setup.control_plane.kubectl(*arguments, input=json.dumps(body), check=False))


def test_tenant_cannot_take_off_a_hold_gate_that_is_listed_for_others(setup: AdmissionSetup) -> None:
    scan, review = "hold.quotree.dev/scan", "hold.quotree.dev/review"
    body = job_body("gated", RED)
    body["metadata"].setdefault("labels", {}).update({scan: "true", review: "true"})
    assert create(setup, RED, body) == "job.batch/gated created"

    def take_off(gate: str, who: str, value: str | None = None) -> str:
        change = json.dumps({"metadata": {"labels": {gate: value}}})
        groups = ("--as-group", "system:masters") if who == "scanner" else ("--as-group", "system:authenticated")
        arguments = ("patch", "job", "gated", "-n", RED, "--type=merge", "-p", change, "--as", who, *groups)
        return words(setup.control_plane.kubectl(*arguments, check=False))

    for value in (None, "false"):
        answer = take_off(scan, RED, value)
        assert answer.endswith(
            f"Job 'gated' metadata.labels[{scan}]: only scanner may take it off (quota.gates); leave it, or ask there "
            "(GateRemoved)"
        ), answer
    assert take_off(review, RED) == "job.batch/gated patched"
    assert take_off(scan, "scanner") == "job.batch/gated patched"


def test_tenant_names_only_priorities_that_its_group_may_use(setup: AdmissionSetup) -> None:
    def named(name: str, tenant: str, priority: str) -> str:
        body = job_body(name, tenant)
        body["metadata"].setdefault("labels", {})["quotree.dev/priority"] = priority
        return create(setup, tenant, body)

    where = "metadata.labels[quotree.dev/priority]"
    assert named("ordered", RED, "soon") == "job.batch/ordered created"
    assert named("ordered", BLUE, "now") == "job.batch/ordered created"
    assert named("urgent", RED, "now") == (
        f"Job 'urgent' {where}: is \"now\"; workloads of group red may name soon (quota.workloadPriorities), or leave "
        "the label out (WorkloadPriorityNotAllowed)"
    )
    assert named("wrong", BLUE, "nwo").startswith(f"Job 'wrong' {where}: is \"nwo\"; there is no such one; ")
    raise_it = ("label", "job", "ordered", "-n", RED, "--overwrite", "--as", RED, "quotree.dev/priority=now")
    assert "(WorkloadPriorityNotAllowed)" in words(setup.control_plane.kubectl(*raise_it, check=False))


def test_tenant_can_use_only_its_own_group(setup: AdmissionSetup) -> None:
    assert create(setup, RED, job_body("own", RED)) == "job.batch/own created"
    message = create(setup, BLUE, job_body("thief", RED))
    assert message == (
        "Job 'thief' metadata.labels[quotree.dev/group]: neither user blue nor system:serviceaccount:blue:default may "
        "use group red: one of them needs the verb use on that QuotaGroup (quota.requireUse); have it granted, or name "
        "another group (UseNotAllowed)"
    )
    pod = {**job_body("thief", RED), "apiVersion": "v1", "kind": "Pod"}
    assert "(UseNotAllowed)" in create(setup, BLUE, {**pod, "spec": pod["spec"]["template"]["spec"]})


def test_held_job_cannot_move_to_a_group_its_owner_cannot_use(setup: AdmissionSetup) -> None:
    assert create(setup, BLUE, job_body("mover", BLUE)) == "job.batch/mover created"
    arguments = ("label", "job", "mover", "-n", BLUE, "--overwrite", "--as", BLUE, "quotree.dev/group=red")
    assert "(UseNotAllowed)" in words(setup.control_plane.kubectl(*arguments, check=False))


def test_pods_of_controllers_use_the_permission_of_their_service_account(setup: AdmissionSetup) -> None:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}

    def deployment(name: str, account: str) -> dict[str, Any]:
        labels = {"app": name, "quotree.dev/group": "strict"}
        spec = {"serviceAccountName": account, "containers": [container]}
        template = {"metadata": {"labels": labels}, "spec": spec}
        body = {"selector": {"matchLabels": {"app": name}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": body}

    for name, account in (("let", "robot"), ("not", "default")):
        assert create(setup, BLUE, deployment(name, account)) == f"deployment.apps/{name} created"
    pods = ("get", "pods", "-n", BLUE, "-o", "name", "-l")
    wait_for(lambda: setup.control_plane.kubectl(*pods, "app=let").stdout, "the pod that the service account may make")
    events = ("get", "events", "-n", BLUE, "-o", "jsonpath={.items[?(@.reason=='FailedCreate')].message}")
    wait_for(lambda: "(UseNotAllowed)" in setup.control_plane.kubectl(*events).stdout, "the refusal of the other")
    assert setup.control_plane.kubectl(*pods, "app=not").stdout == ""


def test_granted_or_revoked_permission_takes_effect(setup: AdmissionSetup) -> None:
    assert "(UseNotAllowed)" in create(setup, RED, job_body("later", BLUE))
    granted(setup, "late", BLUE, f"--user={RED}")
    wait_for(lambda: create(setup, RED, job_body("later", BLUE)) == "job.batch/later created", "the grant")
    setup.control_plane.kubectl("delete", "clusterrolebinding", "late")
    wait_for(lambda: "(UseNotAllowed)" in create(setup, RED, job_body("after", BLUE)), "the end of the grant")


def test_priority_class_must_be_allowed_by_the_group(setup: AdmissionSetup) -> None:
    message = create(setup, RED, job_body("vip", RED, pod={"priorityClassName": "top"}))
    assert "spec.template.spec.priorityClassName: is top; workloads of group root may name low" in message
    low = job_body("low", RED, pod={"priorityClassName": "low"})
    assert create(setup, RED, low) == "job.batch/low created"


def test_every_container_must_have_requests_where_the_group_requires_them(setup: AdmissionSetup) -> None:
    silent = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "0"}}}
    message = create(setup, RED, job_body("free", "strict", pod={"containers": [silent]}))
    assert "spec.template.spec.containers[0]: requests no cpu; group lab has requireRequests" in message
    assert create(setup, RED, job_body("counted", "strict")) == "job.batch/counted created"


def test_termination_grace_period_is_limited_by_the_group(setup: AdmissionSetup) -> None:
    message = create(setup, RED, job_body("slow", RED, pod={"terminationGracePeriodSeconds": 3600}))
    assert "spec.template.spec.terminationGracePeriodSeconds: is 3600; until pods end" in message
    assert create(setup, RED, job_body("quick", RED, pod={"terminationGracePeriodSeconds": 60})).endswith("created")


def test_device_claims_are_checked_by_their_templates(setup: AdmissionSetup) -> None:
    skip_before(34, setup.control_plane, "ResourceClaims")
    path = f"/apis/resource.k8s.io/v1/namespaces/{RED}/resourceclaimtemplates"

    def judged(template: str, **wanted: Any) -> str:
        """What a dry run says of a Job whose pods take devices by this template."""
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **wanted}}
        setup.create(path, {"metadata": {"name": template}, "spec": {"spec": {"devices": {"requests": [request]}}}})
        claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}]}
        body = json.dumps(job_body(f"takes-{template}", RED, pod=claims))
        arguments = ("create", "--dry-run=server", "-n", RED, "-f", "-", "--as", RED, "--as-group")
        answered = f"template {template} is seen"

        def answer() -> str:
            message = words(setup.control_plane.kubectl(*arguments, "system:authenticated", input=body, check=False))
            return message if "gpu.example.com" in message or "Devices" in message else ""

        return wait_for(answer, answered)

    all_of_them = judged("whole", allocationMode="All")
    assert (
        "spec.template.spec.resourceClaims: ResourceClaimTemplate whole requests all devices of a class" in all_of_them
    )
    assert "(DevicesUncountable)" in all_of_them
    uncovered = judged("two", count=2)
    assert "requests gpu.example.com.deviceclass.resource.k8s.io/devices, of which group red has no quota" in uncovered
    assert "(ResourceNotCovered)" in uncovered


def test_editor_of_a_leaf_cannot_exceed_the_maxima(setup: AdmissionSetup) -> None:
    editor(setup, "leaf-editor", RED)

    def notice(text: str) -> str:
        change = json.dumps({"spec": {"reclaim": {"notice": text}}})
        return words(
            setup.control_plane.kubectl("patch", "qg", RED, "--type=merge", "-p", change, "--as", RED, check=False)
        )

    wait_for(lambda: "forbidden" not in notice("1h"), "the role is in force")
    assert notice("1h") == (
        "QuotaGroup 'red' spec.reclaim.notice: is 1h, at most 1m is allowed (quota.maxima.reclaim.notice); lower it "
        "(AboveMaximum)"
    )
    assert notice("1m") == "quotagroup.quotree.dev/red patched"


def test_editor_of_a_leaf_cannot_take_from_its_siblings(setup: AdmissionSetup) -> None:
    """RED can edit the group blue, and later its parent, too."""
    entry = {"flavor": "default", "min": {"cpu": 2}, "max": {"cpu": 4}}
    setup.group("side", isParent=True, quotas=[{"flavor": "default", "min": {"cpu": 8}, "max": {"cpu": 8}}])
    setup.group("mine", "side", quotas=[entry])
    editor(setup, "mine-editor", "mine")

    def edit(spec: dict[str, Any]) -> str:
        change = json.dumps({"spec": spec})
        arguments = ("patch", "qg", "mine", "--type=merge", "-p", change, "--as", RED)
        return words(setup.control_plane.kubectl(*arguments, check=False))

    def quota(**limits: Any) -> dict[str, Any]:
        return {"quotas": [{**entry, **limits}]}

    yes = "quotagroup.quotree.dev/mine patched"
    wait_for(lambda: edit({"reclaim": {"notice": "1s"}}) == yes, "the role is in force")
    end = "at the expense of the groups beside it; for that, user red also needs the verb update or patch on QuotaGroup"
    assert edit(quota(min={"cpu": 3})) == (
        f"QuotaGroup 'mine' spec.quotas[0].min: raises min of default/cpu from 2 to 3, {end} side; ask a user "
        "who has it (TakesFromSiblings)"
    )
    assert f"changes the weight of default/cpu from 4 to 5, {end} side" in edit(quota(max={"cpu": 5}))
    assert f"changes the weight of default/cpu from 4 to 9, {end} side" in edit(quota(weight={"cpu": 9}))
    assert f"moves the group from side to lab, {end} lab" in edit({"parent": "lab"})
    assert edit(quota(max={"cpu": 6}, weight={"cpu": 4})) == yes
    assert edit(quota(min={"cpu": 1}, max={"cpu": 6}, weight={"cpu": 1})) == yes
    assert "(TakesFromSiblings)" in edit(quota(min={"cpu": 2}, max={"cpu": 6}, weight={"cpu": 1}))
    hours: dict[str, Any] = {"resource": "cpu", "hours": 4, "period": "Day", "whenSpent": "NoStart"}
    assert edit({"budgets": [hours]}) == yes
    larger = edit({"budgets": [{**hours, "hours": 5}]})
    assert f"raises the budget of 4 hours of cpu for a Day (NoStart) to 5, {end} side" in larger
    editor(setup, "side-editor", "side")
    wait_for(lambda: edit(quota(min={"cpu": 3})) == yes, "the role for the parent is in force")
    assert "(TakesFromSiblings)" in edit({"parent": "lab"})


def editor(setup: AdmissionSetup, name: str, group: str) -> None:
    """Let RED get and patch the group."""
    role = ("create", "clusterrole", name, "--verb=get,patch", "--resource=quotagroups.quotree.dev")
    setup.control_plane.kubectl(*role, f"--resource-name={group}")
    setup.control_plane.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--user={RED}")
