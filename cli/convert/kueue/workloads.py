"""Workloads that name a LocalQueue or a priority class of Kueue, with Quotree's labels instead."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from datetime import timedelta
from typing import Any, Final

from cli.convert.conversion import Conversion, as_written, read_object
from cli.convert.kueue.local_queues import LocalQueues
from cli.convert.kueue.objects import read_workload_priority_class
from cli.convert.workload_labels import drop_empty, drop_suspension, label_holders, pod_specs, write_labels
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.durations import LONGEST, write_duration
from shared.api.names import GROUP_LABEL, KUEUE_QUEUE_LABEL, MAX_RUN_TIME, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from shared.api.names import PRIORITY_LABEL as PRIORITY

_PREFIX: Final = "kueue.x-k8s.io/"
QUEUE_LABEL: Final = KUEUE_QUEUE_LABEL
PRIORITY_LABEL: Final = f"{_PREFIX}priority-class"
MAX_EXEC_TIME: Final = f"{_PREFIX}max-exec-time-seconds"
_MOST_SECONDS: Final = LONGEST // timedelta(seconds=1)
POD_GROUP_NAME: Final = f"{_PREFIX}pod-group-name"
POD_GROUP_COUNT: Final = f"{_PREFIX}pod-group-total-count"
_WRITTEN_BY_KUEUE: Final = frozenset({f"{_PREFIX}managed", f"{_PREFIX}podset", f"{_PREFIX}workload"})
_LEFT_OUT: Final = {
    f"{_PREFIX}job-min-parallelism": "is left out: all pods start together, or none does",
    f"{_PREFIX}elastic-job": "is left out: a running Job that grows is held to its group's limits as a whole",
}
"""What a person has to know of an annotation that has no counterpart."""


def convert_priority_classes(manifests: Sequence[Manifest], made: Conversion) -> set[str]:
    """Note the setting that has these classes as workload priorities, and return their names."""
    values = {each.name: read_object(read_workload_priority_class, each).value for each in manifests}
    made.priorities += [{"name": name, "value": value} for name, value in values.items()]
    if values:
        listed = ", ".join(f"{{name: {name}, value: {value}}}" for name, value in values.items())
        text = (
            f"set workloadPriorities: [{listed}] below `quota` in the chart's values; until then the label {PRIORITY}"
        )
        made.note(manifests[0], "value", f"{text} is refused")
    return set(values)


def convert_workloads(manifests: Sequence[Manifest], queues: LocalQueues, classes: set[str], made: Conversion) -> None:
    """Add each workload that names a queue, by itself or in a template, with the group's label in its place."""
    workloads = [each for each in manifests if any(_queues_named(each))]
    check_unique(workloads)
    for manifest in workloads:
        unknown = [(place, name) for place, name in _queues_named(manifest) if not _group_of(manifest, name, queues)]
        for place, name in unknown:
            made.note(manifest, place, f"LocalQueue {name} is not in the files; left out")
        if not unknown:
            made.workloads.append(_convert(manifest, queues, classes, made))


def _queues_named(manifest: Manifest) -> Iterable[tuple[str, str]]:
    """Yield (field, name) of every queue that the object names."""
    for place, holder in label_holders(manifest.body):
        name = (holder.get("labels") or {}).get(QUEUE_LABEL)
        if isinstance(name, str):
            yield f"{place}.labels[{QUEUE_LABEL}]", name


def _group_of(manifest: Manifest, name: str, queues: LocalQueues) -> str | None:
    return queues.group_of(manifest.namespace or "default", name)


def _convert(manifest: Manifest, queues: LocalQueues, classes: set[str], made: Conversion) -> dict[str, Any]:
    body = deepcopy(as_written(manifest))
    own, own_labels, annotations = None, dict[str, str](), dict[str, str]()
    for place, holder in list(label_holders(body)):
        name = (holder.get("labels") or {}).pop(QUEUE_LABEL, None)
        group = _group_of(manifest, name, queues) if name is not None else None
        if group is not None and holder is body["metadata"]:
            own = group
        elif group is not None:
            holder["labels"][GROUP_LABEL] = group
        _rename_pod_group(holder)
        run_time = _run_time_of(manifest, place, holder, made)
        if run_time is not None and holder is body["metadata"]:
            annotations[MAX_RUN_TIME] = run_time
        elif run_time is not None:
            holder["annotations"] = {**(holder.get("annotations") or {}), MAX_RUN_TIME: run_time}
        labels = _priority_of(manifest, place, holder, classes, made)
        if holder is body["metadata"]:
            own_labels |= labels
        elif labels:
            holder["labels"] = {**(holder.get("labels") or {}), **labels}
        _leave_out(manifest, place, holder, made)
        drop_empty(holder)
    if own is not None:
        write_labels(manifest, body, {GROUP_LABEL: own} | own_labels, made, annotations)
    drop_suspension(manifest, body)
    for spec in pod_specs(body):
        _open_gate(spec)
    return body


def _rename_pod_group(holder: dict[str, Any]) -> None:
    """Replace Kueue's label and annotation of a group of pods by Quotree's labels."""
    labels, annotations = holder.get("labels") or {}, holder.get("annotations") or {}
    name = labels.pop(POD_GROUP_NAME, None) or annotations.pop(POD_GROUP_NAME, None)
    count = annotations.pop(POD_GROUP_COUNT, None)
    if name is not None:
        size = {POD_GROUP_SIZE_LABEL: count} if count is not None else {}
        holder["labels"] = {**labels, POD_GROUP_LABEL: name, **size}


def _run_time_of(manifest: Manifest, place: str, holder: dict[str, Any], made: Conversion) -> str | None:
    """Take out Kueue's label with the longest run time, in seconds; return that as a duration."""
    seconds = (holder.get("labels") or {}).pop(MAX_EXEC_TIME, None)
    if seconds is None:
        return None
    if not (str(seconds).isascii() and str(seconds).isdigit() and 0 < int(seconds) <= _MOST_SECONDS):
        made.note(manifest, f"{place}.labels[{MAX_EXEC_TIME}]", f"{seconds} is no number of seconds; left out")
        return None
    return write_duration(timedelta(seconds=int(seconds)))


def _priority_of(
    manifest: Manifest, place: str, holder: dict[str, Any], classes: set[str], made: Conversion
) -> dict[str, str]:
    """Take out the label with the priority class; return the one that stands for it."""
    name = (holder.get("labels") or {}).pop(PRIORITY_LABEL, None)
    if name is None:
        return {}
    if name not in classes:
        text = f"WorkloadPriorityClass {name} is not in the files; left out"
        made.note(manifest, f"{place}.labels[{PRIORITY_LABEL}]", text)
        return {}
    return {PRIORITY: name}


def _leave_out(manifest: Manifest, place: str, holder: dict[str, Any], made: Conversion) -> None:
    """Take out what else Kueue reads, and note what a person has written of it."""
    for kept in ("labels", "annotations"):
        for key in [each for each in holder.get(kept) or {} if each.startswith(_PREFIX)]:
            del holder[kept][key]
            if key not in _WRITTEN_BY_KUEUE:
                text = _LEFT_OUT.get(key, "has no counterpart and is left out")
                made.note(manifest, f"{place}.{kept}[{key}]", text)
    if "finalizers" in holder:
        holder["finalizers"] = [each for each in holder["finalizers"] if not str(each).startswith(_PREFIX)]


def _open_gate(spec: dict[str, Any]) -> None:
    """Take out the scheduling gates by which Kueue holds a pod."""
    gates = spec.get("schedulingGates")
    if isinstance(gates, list):
        kept = [each for each in gates if not str(each.get("name", "")).startswith(_PREFIX)]
        spec.pop("schedulingGates")
        if kept:
            spec["schedulingGates"] = kept
