"""Kueue's objects as manifests."""

from typing import Any

import yaml

KUEUE = "kueue.x-k8s.io/v1beta2"
COMPLETE = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}


def kueue(kind: str, name: str, spec: dict[str, Any], version: str = KUEUE, **metadata: Any) -> str:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return f"---\n{yaml.dump(body, Dumper=yaml.CSafeDumper)}"


def quotas(flavor: str = "a100", **resources: Any) -> list[dict[str, Any]]:
    """One resource group of one flavor; a resource is its nominalQuota, or a mapping of the limits."""
    written = [
        {"name": name, **(limits if isinstance(limits, dict) else {"nominalQuota": limits})}
        for name, limits in resources.items()
    ]
    return [{"coveredResources": list(resources), "flavors": [{"name": flavor, "resources": written}]}]


def queue(name: str, cohort: str = "labs", version: str = KUEUE, **spec: Any) -> str:
    named = {} if not cohort else {"cohort" if version.endswith("v1beta1") else "cohortName": cohort}
    defaults = {"namespaceSelector": {}, "resourceGroups": quotas(cpu=10), **COMPLETE}
    return kueue("ClusterQueue", name, {**defaults, **named, **spec}, version)


def local_queue(namespace: str, cluster_queue: str, name: str = "main") -> str:
    return kueue("LocalQueue", name, {"clusterQueue": cluster_queue}, namespace=namespace)
