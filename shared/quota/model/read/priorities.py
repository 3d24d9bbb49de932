"""Which priority orders a workload in its leaf: the one that its label names, else that of its pods.

See docs/specification.md §6.10.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from shared.api.core.pod import PodSpec
from shared.api.core.priority import Priorities
from shared.api.names import PRIORITY_LABEL
from shared.quota.model.settings import WorkloadPriority

_SHOWN: Final = 63


class OrderPriority(NamedTuple):
    """A priority, what it is from, in words, and what is wrong with what the workload says of it."""

    value: int
    source: str = ""
    problems: tuple[str, ...] = ()


def priority_of(
    labels: Mapping[str, str], spec: PodSpec, classes: Priorities, named: Mapping[str, WorkloadPriority]
) -> OrderPriority:
    """Return the priority of a workload with these labels and pods; what names nothing that exists counts as absent."""
    label, class_name = labels.get(PRIORITY_LABEL), spec.priority_class_name
    problems = []
    if class_name and spec.priority is None and not classes.knows(class_name):
        problems.append(f"there is no PriorityClass {class_name[:_SHOWN]!r}; the priority counts as none")
    own = OrderPriority(classes.of_pod(spec), "" if problems else _of_class(class_name), tuple(problems))
    if label is None:
        return own
    found = named.get(label)
    if found is None:
        problem = f"label {PRIORITY_LABEL} is {label[:_SHOWN]!r}, which the settings do not have; it counts as absent"
        return own._replace(problems=(*own.problems, problem))
    return OrderPriority(found.value, _of_label(label, class_name), own.problems)


@lru_cache(1024)
def _of_class(name: str) -> str:
    return f"PriorityClass {name[:_SHOWN]}" if name else ""


@lru_cache(1024)
def _of_label(label: str, class_name: str) -> str:
    other = f"; PriorityClass {class_name[:_SHOWN]} is for kube-scheduler alone" if class_name else ""
    return f"label {PRIORITY_LABEL}: {label}{other}"
