"""What a tenant does next: a verb, a path and a body, drawn from all that the role `edit` names and a little more.

What is refused is no mistake: that is what the border is for.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from shared.api.names import ADMISSION, GROUP_LABEL, HOLD_LABEL, JOB_OWNER_LABEL, PREEMPTIBLE_LABEL
from tests.fuzz import manifests, multiplying, times
from tests.fuzz.actor import MERGE, MOST_OBJECTS, Actor
from tests.fuzz.manifests import FINALIZER, Body
from tests.fuzz.organisation import Tenant

PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"


def act(actor: Actor) -> None:
    """Do one thing."""
    actions, weights = zip(*_ACTIONS, strict=True)
    actor.random.choices(actions, weights)[0](actor)


def _create_job(actor: Actor) -> None:
    if len(actor.all("jobs")) >= MOST_OBJECTS:
        return actor.delete_any("jobs")
    body = manifests.job(actor.random, actor.tenant, actor.new_name("job"))
    actor.request("create job", "POST", actor.path("jobs"), body)
    return None


def _create_pod(actor: Actor) -> None:
    if len(actor.all("pods")) >= 2 * MOST_OBJECTS:
        return actor.delete_any("pods")
    body = manifests.pod(actor.random, actor.tenant, actor.new_name("pod"), actor.all("jobs"))
    actor.request("create pod", "POST", actor.path("pods"), body)
    return None


def _delete_job(actor: Actor) -> None:
    actor.delete_any("jobs")


def _delete_pod(actor: Actor) -> None:
    actor.delete_any("pods")


def _delete_many(actor: Actor) -> None:
    kind = actor.random.choice(("jobs", "pods"))
    options = {"propagationPolicy": actor.random.choice(("Background", "Orphan"))}
    actor.request(f"deletecollection {kind}", "DELETE", actor.path(kind), options)


def _patch_job(actor: Actor) -> None:
    found = actor.one("jobs")
    if found is None:
        return
    change = actor.random.choice(_JOB_CHANGES)(actor.random, actor.tenant)
    name = found["metadata"]["name"]
    if actor.random.random() < 0.15:
        whole = {"apiVersion": "batch/v1", "kind": "Job", **change}
        query = "?fieldManager=tenant&force=true"
        actor.request("apply job", "PATCH", actor.path("jobs", name) + query, whole, APPLY)
    else:
        actor.request("patch job", "PATCH", actor.path("jobs", name), change, MERGE)


def _churn(actor: Actor) -> None:
    """The spec again and again, as fast as the API server takes it."""
    found = actor.one("jobs")
    if found is not None:
        for limit in range(actor.random.randint(5, 40)):
            path = actor.path("jobs", found["metadata"]["name"])
            actor.request("churn job", "PATCH", path, {"spec": {"backoffLimit": 500 + limit}}, MERGE)


def _put_job(actor: Actor) -> None:
    found = actor.one("jobs")
    if found is None:
        return
    found["spec"]["suspend"] = False
    found["metadata"].get("annotations", {}).pop(ADMISSION, None)
    actor.request("update job", "PUT", actor.path("jobs", found["metadata"]["name"]), found)


def _touch_job_status(actor: Actor) -> None:
    found = actor.one("jobs")
    if found is not None:
        path = actor.path("jobs", found["metadata"]["name"], "status")
        actor.request("patch job status", "PATCH", path, {"status": {"active": 0, "terminating": 0}}, MERGE)


def _patch_pod(actor: Actor) -> None:
    found, jobs = actor.one("pods"), actor.all("jobs")
    if found is None:
        return
    owner = manifests.owner_reference(actor.random.choice(jobs)) if jobs else None
    change = actor.random.choice(_POD_CHANGES)(actor.random, actor.tenant, owner)
    actor.request("patch pod", "PATCH", actor.path("pods", found["metadata"]["name"]), change, MERGE)


def _ungate(actor: Actor) -> None:
    gated = [each for each in actor.all("pods") if each["spec"].get("schedulingGates")]
    if gated:
        path = actor.path("pods", actor.random.choice(gated)["metadata"]["name"])
        actor.request("ungate pod", "PATCH", path, [{"op": "remove", "path": "/spec/schedulingGates"}], PATCH)


def _evict(actor: Actor) -> None:
    found = actor.one("pods")
    if found is not None:
        name = found["metadata"]["name"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        actor.request("evict pod", "POST", actor.path("pods", name, "eviction"), body)


def _subresource(actor: Actor) -> None:
    """Of a pod: a further container, another size, a status, a node."""
    found = actor.one("pods")
    if found is None:
        return
    name, containers = found["metadata"]["name"], found["spec"]["containers"]
    cpu = actor.random.choice(("100m", "4", "8"))
    resized = [{"name": each["name"], "resources": {"requests": {"cpu": cpu}}} for each in containers]
    debug = [{"name": f"debug-{actor.random.randint(1, 1000)}", "image": "none"}]
    subresource, body = actor.random.choice(
        (
            ("ephemeralcontainers", {"spec": {"ephemeralContainers": debug}}),
            ("resize", {"spec": {"containers": resized}}),
            ("status", {"status": {"phase": "Succeeded"}}),
        )
    )
    actor.request(f"patch {subresource}", "PATCH", actor.path("pods", name, subresource), body, STRATEGIC)


def _bind(actor: Actor) -> None:
    found = actor.one("pods")
    if found is not None:
        body = {"metadata": {"name": found["metadata"]["name"]}, "target": {"kind": "Node", "name": "node-0"}}
        actor.request("bind pod", "POST", actor.path("pods", found["metadata"]["name"], "binding"), body)


def _budget(actor: Actor) -> None:
    _make_or_delete(actor, "poddisruptionbudgets", lambda: manifests.disruption_budget(actor.random, "all"))


def _limit_range(actor: Actor) -> None:
    _make_or_delete(actor, "limitranges", lambda: manifests.limit_range(actor.random, "all"))


def _make_or_delete(actor: Actor, kind: str, make: Callable[[], Body]) -> None:
    if actor.all(kind):
        actor.request(f"delete {kind}", "DELETE", actor.path(kind, "all"))
    else:
        actor.request(f"create {kind}", "POST", actor.path(kind), make())


def _join_later(actor: Actor) -> None:
    """A Job that nothing manages, or that is managed, gets annotations or a unit; then its label."""
    waiting = actor.one("jobs")
    body = manifests.job(actor.random, actor.tenant, actor.new_name("early"))
    metadata, spec = body["metadata"], body["spec"]
    metadata["labels"] = {"quotree.dev/unit": "invented"} if actor.random.random() < 0.2 else {}
    metadata["annotations"] = manifests.forgery(actor.random, waiting["metadata"]["uid"] if waiting else "0")
    spec["suspend"] = actor.random.random() < 0.7
    if actor.random.random() < 0.5:
        metadata["annotations"] = {}
    actor.request("create early job", "POST", actor.path("jobs"), body)
    for change in (
        {"metadata": {"annotations": manifests.forgery(actor.random, "0")}},
        {"metadata": {"labels": {GROUP_LABEL: actor.random.choice(actor.tenant.groups)}}},
    ):
        actor.request("join later", "PATCH", actor.path("jobs", metadata["name"]), change, MERGE)


def _many_names(actor: Actor) -> None:
    body = manifests.job(actor.random, actor.tenant, actor.new_name("names"))
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = manifests.many_names(actor.random)
    actor.request("create job of many names", "POST", actor.path("jobs"), body)


def _delete_all_pods(actor: Actor) -> None:
    """Its pods end slowly while others come in their place, again and again."""
    for _ in range(actor.random.randint(1, 3)):
        actor.request("delete all pods", "DELETE", actor.path("pods"), {"propagationPolicy": "Background"})


def _edit_group(actor: Actor) -> None:
    """As the editor of its leaf: durations at the ends."""
    text = actor.random.choice(("79999999h", "999999999h", "876000h1ms", "999999999h" * 6, "-1s", "1000000000000000h"))
    field = actor.random.choice(("claimTimeout", "notice", "exemptAfterStart", "gracePeriod"))
    group = actor.tenant.group or actor.tenant.groups[0]
    path = f"/apis/quotree.dev/v1alpha1/quotagroups/{group}"
    actor.request("edit group", "PATCH", path, {"spec": {"reclaim": {field: text}}}, MERGE)


def _deployment(actor: Actor) -> None:
    found = actor.one("deployments")
    if found is None or (len(actor.all("deployments")) < 2 and actor.random.random() < 0.5):
        body = manifests.deployment(actor.random, actor.tenant, actor.new_name("web"))
        actor.request("create deployment", "POST", actor.path("deployments"), body)
    elif actor.random.random() < 0.5:
        path = actor.path("deployments", found["metadata"]["name"], "scale")
        change = {"spec": {"replicas": actor.random.randint(0, 4)}}
        actor.request("scale deployment", "PATCH", path, change, MERGE)
    else:
        actor.delete_any("deployments")


Change = Callable[[Random, Tenant], Body]
_JOB_CHANGES: Final[tuple[Change, ...]] = (
    lambda random, _: {"spec": {"parallelism": random.choice((0, 1, 2, 4, 8))}},
    lambda random, _: {"spec": {"parallelism": random.choice((1, 4)), "completions": random.choice((1, 4))}},
    lambda random, _: {"spec": {"suspend": random.choice((True, False, None))}},
    lambda _, __: {"spec": {"suspend": True}},
    lambda random, tenant: {"metadata": {"labels": manifests.labels(random, tenant)}},
    lambda random, tenant: {"metadata": {"labels": {GROUP_LABEL: random.choice((*tenant.groups, None))}}},
    lambda random, _: {"metadata": {"labels": {PREEMPTIBLE_LABEL: random.choice(("true", "false", None))}}},
    lambda random, _: {"metadata": {"labels": {HOLD_LABEL: random.choice(("true", None))}}},
    lambda random, _: {"metadata": {"annotations": manifests.annotations(random)}},
    lambda _, __: {"metadata": {"annotations": {ADMISSION: None}}},
    lambda random, _: {"metadata": {"finalizers": random.choice(([FINALIZER], None))}},
    lambda _, __: {"metadata": {"ownerReferences": None}},
    lambda random, tenant: {"spec": {"template": manifests.pod_template(random, tenant)}},
    lambda random, _: {"spec": {"activeDeadlineSeconds": random.choice((1, 100, None))}},
    lambda _, __: {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}}}},
)
PodChange = Callable[[Random, Tenant, Body | None], Body]
_POD_CHANGES: Final[tuple[PodChange, ...]] = (
    lambda random, tenant, _: {"metadata": {"labels": manifests.labels(random, tenant)}},
    lambda random, tenant, _: {"metadata": {"labels": {GROUP_LABEL: random.choice((*tenant.groups, None))}}},
    lambda random, _, __: {"metadata": {"labels": {JOB_OWNER_LABEL: random.choice((None, "0"))}}},
    lambda _, __, ___: {"metadata": {"labels": {"batch.kubernetes.io/job-name": None, "job-name": None}}},
    lambda _, __, ___: {"metadata": {"ownerReferences": None}},
    lambda _, __, owner: {"metadata": {"ownerReferences": [owner] if owner else None}},
    lambda _, __, ___: {"metadata": {"finalizers": None}},
    lambda random, _, __: {"metadata": {"finalizers": random.choice(([FINALIZER], None))}},
    lambda random, _, __: {"metadata": {"annotations": manifests.annotations(random)}},
    lambda _, __, ___: {"metadata": {"annotations": {ADMISSION: None}}},
    lambda _, __, ___: {"spec": {"activeDeadlineSeconds": 2}},
)
_ACTIONS: Final[tuple[tuple[Callable[[Actor], None], int], ...]] = (
    (_create_job, 30),
    (_create_pod, 16),
    (_delete_job, 10),
    (_delete_pod, 10),
    (_delete_many, 1),
    (_patch_job, 24),
    (_churn, 1),
    (_put_job, 3),
    (_touch_job_status, 1),
    (_patch_pod, 14),
    (_ungate, 3),
    (_evict, 5),
    (_subresource, 5),
    (_bind, 1),
    (_budget, 2),
    (_limit_range, 1),
    (_deployment, 4),
    (_join_later, 6),
    (_many_names, 1),
    (_delete_all_pods, 1),
    (multiplying.replace_members, 3),
    (multiplying.create_jobset, 8),
    (multiplying.patch_jobset, 6),
    (multiplying.delete_jobset, 2),
    (multiplying.join_jobset, 2),
    (multiplying.delete_pods_of_jobsets, 4),
    (_edit_group, 1),
    (times.edit_times, 2),
    (times.flood, 1),
)
