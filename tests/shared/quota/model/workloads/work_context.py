"""The tree, flavors and settings in which the rules about new workloads are tested."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_group_manifest
from shared.quota.model.rules.findings import Findings
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group, Tree

GROUP_LABEL = "metadata.labels[quotree.dev/group]"
GPU = "nvidia.com/gpu"


def group(name: str, parent: str | None = None, **spec: Any) -> Group:
    return read_group_manifest({"metadata": {"name": name}, "spec": {**({"parent": parent} if parent else {}), **spec}})


def quota(flavor: str, least: int | None, most: int | None = None, **more: Any) -> dict[str, Any]:
    """An entry about GPUs."""
    entry: dict[str, Any] = {"flavor": flavor, **more}
    if least is not None:
        entry["min"] = {GPU: least}
    if most is not None:
        entry["max"] = {GPU: most}
    return entry


TREE = Tree.of(
    [
        group("lab", isParent=True, quotas=[quota("a100", 8, 16), quota("t4", 8)]),
        group("vision", "lab", quotas=[quota("a100", 4, 32), quota("t4", 4)]),
        group("nlp", "lab", quotas=[quota("a100", 4, borrowingLimit={GPU: 2})]),
        group("closed", isParent=True, stopPolicy="Close"),
        group("inside", "closed"),
        group("shut", stopPolicy="Close"),
        replace(group("going"), deleting=True),
        group("held", isParent=True, stopPolicy="HoldAndDrain", quotas=[quota("a100", 8)]),
        group("waiting", "held", quotas=[quota("a100", 8)]),
        group("lost", "absent"),
        group("empty", isParent=True),
        group("system"),
        group(
            "strict",
            isParent=True,
            requireRequests=True,
            maxRunTime="24h",
            quotas=[{"max": {"cpu": 8, "memory": 8, GPU: 8}}],
        ),
        group("counted", "strict", quotas=[{"max": {"cpu": 8, "memory": 8}}]),
        group("machines", "strict", quotas=[{"max": {"cpu": 8, GPU: 8}}]),
        group(
            "choosy",
            namespaceSelector={
                "matchLabels": {"team": "red"},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "silver"]}],
            },
        ),
    ]
)
PRIORITIES = {"lab": ("low", "high"), "nlp": ("low",), "strict": ()}
MINUTE = timedelta(minutes=1)


def pods(**terms: Any) -> dict[str, Any]:
    return {"terms": (PodTerms(), PodTerms(**terms))}


FLAVORS = {"a100": Flavor("a100", {"gpu": "a100"}), "t4": Flavor("t4", {"gpu": "t4"})}


def check(group_name: str, settings: QuotaSettings | None = None, **fields: Any) -> Findings:
    context = WorkloadContext(TREE, FLAVORS, fields.pop("capacity", None), settings or QuotaSettings())
    labels = {"quotree.dev/group": group_name, **fields.pop("labels", {})}
    return check_new_workload(SubmittedWorkload("Job/x", group_name, labels=labels, **fields), context)
