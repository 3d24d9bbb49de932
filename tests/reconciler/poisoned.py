"""`python -m tests.reconciler.poisoned --config FILE`: a reconciler in which each step fails on one object.

A step of `STEPS` fails on the objects that are named after it: step 3 on `poison-3` and `poison-3-1`, no other.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.watch.cache import Changed
from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload

STEPS: Final = {
    "Job": (
        "shared.cluster.state.observed.projections:project_job",
        "shared.cluster.state.cluster_state:ClusterState.observe_jobs",
        "shared.cluster.state.workloads.reader:WorkloadReader.read",
        "shared.cluster.state.workloads.object_store:ObjectStore.put_owner",
        "shared.quota.model.eligibility:shape_of",
        "shared.quota.measure.inputs.workload_set:lists_of",
        "shared.quota.measure.leaves.leaf_snapshot:build_leaf",
        "shared.quota.decide.state.flavor_assignment:assignments_of",
        "reconciler.write.starts.patches:StartPatches.of",
        "reconciler.report.events.decisions:WorkloadEvents.started",
        "reconciler.report.metrics:StartMetrics.started",
    ),
    "Pending": (
        "shared.quota.outlook.explain.pending_reasons:PendingReasons.why",
        "reconciler.report.events.decisions:WorkloadEvents.waits",
    ),
    "QuotaGroup": (
        "shared.cluster.state.observed.projections:project_group",
        "shared.cluster.state.cluster_state:ClusterState.observe_groups",
        "shared.quota.measure.static.leaf_settings:read_leaf_settings",
        "shared.quota.model.rules.groups.inactive:inactive_groups",
        "reconciler.report.status.groups:status_of",
    ),
    "Namespace": (
        "shared.api.core.namespace:read_namespace",
        "shared.quota.model.namespace_context:NamespaceContexts.observe_namespaces",
    ),
    "Node": (
        "shared.cluster.state.observed.projections:project_node",
        "shared.quota.measure.static.node_usage:NodeUsage.observe_nodes",
        "shared.quota.model.node:ClusterNode.keeps_use_until",
        "shared.quota.measure.static.capacity:compute_capacity",
    ),
    "Pod": (
        "shared.cluster.state.observed.projections:project_pod",
        "shared.quota.model.membership:is_of_system",
    ),
}
"""What the object is -> module:function. `Pending`: a Job that does not fit."""
BEFORE_START: Final = range(9)
"""The steps that a Job takes before it is started."""
NUMBERED: Final = [(kind, step) for kind, steps in STEPS.items() for step in steps]


class Poisoned(Exception):
    """The fault."""


def name_of(number: int) -> str:
    """Return the name of the object on which this step fails."""
    return f"poison-{number}"


def poison(numbers: Iterable[int] = range(len(NUMBERED))) -> None:
    """Let these steps fail from now on."""
    for number in numbers:
        module, _, path = NUMBERED[number][1].partition(":")
        owner: Any = importlib.import_module(module)
        *outer, name = path.split(".")
        for each in outer:
            owner = getattr(owner, each)
        original = getattr(owner, name)
        replacement = _failing(original, name_of(number))
        if outer:
            setattr(owner, name, replacement)
            continue
        for found in list(sys.modules.values()):
            for known, value in list(vars(found).items()):
                if value is original:
                    setattr(found, known, replacement)


def _failing(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def step(*arguments: Any, **named: Any) -> Any:
        checked = [[*each] if inspect.isgenerator(each) else each for each in arguments]
        if any(_is_about(each, name) for each in checked):
            raise Poisoned(name)
        return original(*checked, **named)

    return step


def _is_about(value: object, name: str) -> bool:
    """Return whether the object of this name is the value, or in it."""
    if isinstance(value, bytes):
        return f'"name":"{name}"'.encode() in value or f'"name":"{name}-'.encode() in value
    if isinstance(value, str):
        return _is_named(value, name)
    if isinstance(value, Workload):
        return _is_named(value.key.partition("/")[2], name)
    if isinstance(value, WorkloadSet):
        return any(_is_about(each, name) for each in value.by_id.values())
    if isinstance(value, Tree):
        return name in value
    if isinstance(value, GroupStatusRecord):
        return _is_named(value.group.name, name)
    if isinstance(value, Changed):
        return _is_about(value.after, name)
    if isinstance(value, list | tuple):
        return any(_is_about(each, name) for each in value)
    named = getattr(value, "metadata", None) or getattr(value, "workload", None) or value
    if isinstance(named, Workload):
        return _is_about(named, name)
    found = getattr(named, "name", None)
    return isinstance(found, str) and _is_named(found, name)


def _is_named(found: str, name: str) -> bool:
    return found == name or found.startswith(f"{name}-")


def main() -> int:
    from reconciler import app  # noqa: F401 - so that every module is there
    from reconciler.__main__ import main as run

    poison()
    return run()


if __name__ == "__main__":
    sys.exit(main())
