"""Random Jobs, pods and what stands beside them, with every field by which a tenant might get round its quota."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from shared.api.names import (
    ADMISSION,
    EVICTION,
    EXPECTED_RUN_TIME,
    FLAVOR_LABEL,
    GATE,
    GROUP_LABEL,
    HOLD_LABEL,
    JOB_OWNER_LABEL,
    MAX_RUN_TIME,
    NOTICE,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    PREEMPTIBLE_LABEL,
    REQUEUE,
    STARTUP,
)
from tests.chaos.judging.history.records import JOBSET
from tests.fuzz.organisation import NODES, PRIORITIES, Tenant

Body = dict[str, Any]
FINALIZER: Final = "example.com/mine"
_CPU: Final = ("100m", "500m", "1", "1", "2", "2", "3", "4", "13", "0")
_STOP_TAKES: Final = ("1s", "3s", "6s")
_FORGED: Final = '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'
_ENDS: Final = ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2100-01-01T00:00:00Z")
_LARGE: Final = 150 * 1024
RUN_TIMES: Final = ("0s", "1ms", "1s", "5s", "30s", "876000h", "999999999h", "-1s", "h", "9" * 300)
_STARTUPS: Final = (
    '{"timeout":"1s"}',
    '{"timeout":"876000h","recoveryTimeout":"1ms"}',
    '{"minReady":0}',
    '{"minReady":1}',
    '{"minReady":1000000}',
    '{"gang":1}',
    "[" * 4000,
    "{}",
    '{"timeout":"999999999h"}',
)


def labels(random: Random, tenant: Tenant) -> dict[str, str]:
    """A workload's own labels: a group, mostly one that it may use, and what else Quotree reads."""
    found: dict[str, str] = {}
    if not tenant.group or random.random() < 0.2:
        found[GROUP_LABEL] = random.choice(tenant.groups)
    if random.random() < 0.25:
        found[PREEMPTIBLE_LABEL] = random.choice(("false", "false", "true", "maybe"))
    if random.random() < 0.05:
        found[HOLD_LABEL] = "true"
    if random.random() < 0.04:
        found[FLAVOR_LABEL] = random.choice(("default", "none"))
    if random.random() < 0.08:
        found |= {POD_GROUP_LABEL: f"gang-{random.randint(1, 4)}", POD_GROUP_SIZE_LABEL: str(random.randint(1, 3))}
    return found


def annotations(random: Random) -> dict[str, str]:
    """Padding, and forgeries of what the reconciler writes."""
    found: dict[str, str] = {}
    if random.random() < 0.06:
        found["fill"] = "x" * random.choice((_LARGE, 190 * 1024))
    if random.random() < 0.08:
        found[random.choice((ADMISSION, EVICTION, REQUEUE, NOTICE))] = random.choice((_FORGED, "{}", "no JSON"))
    return found | owner_settings(random)


def owner_settings(random: Random) -> dict[str, str]:
    """What an owner may say of the run time and the start-up of its workload, and what it must not."""
    found: dict[str, str] = {}
    for name, texts in ((MAX_RUN_TIME, RUN_TIMES), (EXPECTED_RUN_TIME, RUN_TIMES), (STARTUP, _STARTUPS)):
        if random.random() < 0.08:
            found[name] = random.choice(texts)
    return found


def forgery(random: Random, uid: str) -> dict[str, str]:
    """What the reconciler might have written, with times at the ends, invented flavors, and a claim for `uid`."""
    time = random.choice((*_ENDS, "2026-01-01T00:00:00Z"))
    flavors = random.choice(({}, {"cpu": "default"}, {"cpu": "invented"}))
    claim = {"uid": uid, "group": "red", "flavors": {"cpu": "default"}}
    texts = {
        ADMISSION: {"flavors": flavors, "time": time},
        EVICTION: {"reason": "Reclaimed", "time": time, "flavors": flavors, "for": claim},
        REQUEUE: {"queued": time, "released": time, "notBefore": time},
        NOTICE: {"time": time, "evictAt": time},
    }
    name = random.choice(tuple(texts))
    return {name: json.dumps(texts[name])}


def many_names(random: Random) -> Body:
    """Requests of more resources than any node has."""
    number = random.choice((50, 65, 1000, 3000))
    return {"requests": {"cpu": "1"}, "limits": {f"example.com/r{each}": "1" for each in range(number)}}


def pod_template(random: Random, tenant: Tenant) -> Body:
    """What runs, how long, and how slowly it ends."""
    simulated = {"demo.quotree.dev/run-for": f"{random.choice((1, 3, 8, 20, 60))}s"}
    if random.random() < 0.5:
        simulated["demo.quotree.dev/stop-takes"] = random.choice(_STOP_TAKES)
    container: Body = {"name": "main", "image": "none", "resources": {"requests": {"cpu": random.choice(_CPU)}}}
    if random.random() < 0.1:
        container["resources"] = {"limits": {"cpu": random.choice(_CPU)}}
    spec: Body = {"restartPolicy": "Never", "containers": [container]}
    if random.random() < 0.15:
        sidecar = {"name": "side", "image": "none", "restartPolicy": "Always"}
        spec["initContainers"] = [{**sidecar, "resources": {"requests": {"cpu": "1"}}}]
    if random.random() < 0.3:
        spec["priorityClassName"] = random.choice(tuple(PRIORITIES))
    if random.random() < 0.03:
        spec["nodeName"] = NODES[0].name
    if random.random() < 0.03:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    if random.random() < 0.2:
        spec["terminationGracePeriodSeconds"] = random.choice((0, 1, 5))
    metadata: Body = {"annotations": simulated}
    if random.random() < 0.1:
        metadata["labels"] = {GROUP_LABEL: random.choice(tenant.groups)}
    return {"metadata": metadata, "spec": spec}


def job(random: Random, tenant: Tenant, name: str) -> Body:
    """A Job."""
    pods = random.randint(1, 4)
    spec: Body = {"parallelism": pods, "completions": pods * random.randint(1, 2), "backoffLimit": 1000}
    spec["template"] = pod_template(random, tenant)
    metadata: Body = {"name": name, "labels": labels(random, tenant), "annotations": annotations(random)}
    for chance, change in _ODD_JOBS:
        if random.random() < chance:
            change(random, spec, metadata)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _indexed(random: Random, spec: Body, _: Body) -> None:
    spec |= {"completionMode": "Indexed"}
    if random.random() < 0.5:
        spec |= {"backoffLimitPerIndex": 1, "maxFailedIndexes": 10}
        spec.pop("backoffLimit")


def _started(random: Random, spec: Body, _: Body) -> None:
    spec["suspend"] = random.choice((True, False))


def _replaced_when_failed(_: Random, spec: Body, __: Body) -> None:
    spec["podReplacementPolicy"] = "Failed"


def _without_completions(_: Random, spec: Body, __: Body) -> None:
    if spec.get("completionMode") != "Indexed":
        spec.pop("completions")


def _short(random: Random, spec: Body, _: Body) -> None:
    spec |= {"activeDeadlineSeconds": random.choice((1, 5, 30)), "ttlSecondsAfterFinished": random.choice((0, 5))}


def _managed_elsewhere(_: Random, spec: Body, __: Body) -> None:
    spec["managedBy"] = "example.com/controller"


def _with_finalizer(_: Random, __: Body, metadata: Body) -> None:
    metadata["finalizers"] = [FINALIZER]


def _generated_owner(_: Random, __: Body, metadata: Body) -> None:
    metadata["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "none", "uid": "0" * 8, "controller": True}
    ]


_ODD_JOBS: Final[tuple[tuple[float, Callable[[Random, Body, Body], None]], ...]] = (
    (0.2, _indexed),
    (0.2, _started),
    (0.2, _replaced_when_failed),
    (0.1, _without_completions),
    (0.1, _short),
    (0.02, _managed_elsewhere),
    (0.06, _with_finalizer),
    (0.02, _generated_owner),
)


def pod(random: Random, tenant: Tenant, name: str, jobs: list[Body]) -> Body:
    """A plain pod; now and then one that claims to be a Job's, or that carries the gate itself."""
    body = pod_template(random, tenant)
    metadata: Body = {"name": name, "labels": labels(random, tenant)}
    metadata["annotations"] = {**body["metadata"]["annotations"], **annotations(random)}
    if jobs and random.random() < 0.15:
        owner = random.choice(jobs)
        metadata["ownerReferences"] = [owner_reference(owner)]
        metadata["labels"] |= {JOB_OWNER_LABEL: owner["metadata"]["uid"]}
    if random.random() < 0.1:
        body["spec"]["schedulingGates"] = [{"name": GATE}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body["spec"]}


def jobset(random: Random, tenant: Tenant, name: str) -> Body:
    """A JobSet of one or two sets of Jobs; some begin again when a Job fails."""
    spec: Body = {"replicatedJobs": replicated_jobs(random, tenant)}
    if random.random() < 0.5:
        spec["failurePolicy"] = {"maxRestarts": random.randint(1, 20)}
    if random.random() < 0.2:
        spec["suspend"] = random.choice((True, False))
    metadata = {"name": name, "labels": labels(random, tenant), "annotations": annotations(random)}
    return {"apiVersion": JOBSET.api_version, "kind": JOBSET.kind, "metadata": metadata, "spec": spec}


def replicated_jobs(random: Random, tenant: Tenant) -> list[Body]:
    """What a JobSet consists of."""
    return [_replicated_job(random, tenant, f"part-{number}") for number in range(random.randint(1, 2))]


def _replicated_job(random: Random, tenant: Tenant, name: str) -> Body:
    pods = random.randint(1, 2)
    spec: Body = {"parallelism": pods, "completions": pods, "backoffLimit": random.choice((0, 1000))}
    spec["template"] = pod_template(random, tenant)
    return {"name": name, "replicas": random.randint(1, 2), "template": {"spec": spec}}


def owner_reference(owner: Body) -> Body:
    """As its controller writes it."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner.get("apiVersion", "batch/v1"),
        "kind": owner.get("kind", "Job"),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def deployment(random: Random, tenant: Tenant, name: str) -> Body:
    """A Deployment of a few pods."""
    template = pod_template(random, tenant)
    template["spec"]["restartPolicy"] = "Always"
    template["spec"].pop("nodeName", None)
    template["metadata"].pop("annotations")
    template["metadata"]["labels"] = {**labels(random, tenant), "app": name}
    spec = {"replicas": random.randint(0, 3), "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def disruption_budget(random: Random, name: str) -> Body:
    """One that lets no pod of the namespace be evicted, or every one."""
    least = random.choice(("100%", "50%", 0))
    spec: Body = {"minAvailable": least, "selector": {}, "unhealthyPodEvictionPolicy": "IfHealthyBudget"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def limit_range(random: Random, name: str) -> Body:
    """Defaults that differ from the requests."""
    limits = [{"type": "Container", "defaultRequest": {"cpu": random.choice(_CPU[:6])}}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": limits}}
