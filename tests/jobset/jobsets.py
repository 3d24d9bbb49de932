"""JobSets as manifests."""

from collections.abc import Mapping
from typing import Any

from tests.operated import Object, named, template

API = "jobset.x-k8s.io/v1alpha2"


def replicated(name: str, pod: Object | None = None, *, replicas: int = 1, pods: int = 1) -> Object:
    """One entry of spec.replicatedJobs: `replicas` Jobs of `pods` pods each."""
    job: Object = pod or template()
    job = {**job, "spec": {**job["spec"], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": job}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def jobset(
    namespace: str, *jobs: Object, name: str = "train", labels: Mapping[str, str] | None = None, **spec: Any
) -> Object:
    """A JobSet of these entries."""
    spec = {"replicatedJobs": list(jobs), **spec}
    return {"apiVersion": API, "kind": "JobSet", "metadata": named(name, namespace, labels), "spec": spec}


def driver_and_workers(namespace: str, driver: Object, worker: Object, labels: Mapping[str, str]) -> Object:
    """A JobSet of three Jobs of one pod each, in two pod sets."""
    return jobset(namespace, replicated("driver", driver), replicated("workers", worker, replicas=2), labels=labels)
