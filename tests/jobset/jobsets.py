"""JobSets as manifests."""

from collections.abc import Mapping
from typing import Any

from tests.operated import Object, named, template

API = "jobset.x-k8s.io/v1alpha2"


def replicated(name: str, *, replicas: int = 1, pods: int = 1, cpu: str = "1", run_for: str | None = None) -> Object:
    """One entry of spec.replicatedJobs: `replicas` Jobs of `pods` pods each."""
    pod = template(cpu=cpu, run_for=run_for, restartPolicy="Never")
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": pod}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def jobset(name: str, *jobs: Object, namespace: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """A JobSet of these entries."""
    spec = {"replicatedJobs": list(jobs), **spec}
    return {"apiVersion": API, "kind": "JobSet", "metadata": named(name, namespace, labels), "spec": spec}
