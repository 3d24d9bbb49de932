"""Workloads that name a queue by a label or an annotation: one way for all systems with a scheduler of their own."""

from collections.abc import Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from cli.convert.conversion import Conversion, as_written
from cli.convert.workload_labels import drop_empty, label_holders, pod_specs, write_labels
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.names import GROUP_LABEL

_NO_COUNTERPART: Final = "has no counterpart and is left out"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the workloads of one system say where they belong."""

    queue_keys: tuple[str, ...]
    """Labels or annotations that name a queue."""
    prefixes: tuple[str, ...]
    """Prefixes of labels and annotations that only this system reads."""
    schedulers: frozenset[str]
    """What `schedulerName` says."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Labels and annotations with a counterpart -> the label that says it here."""
    renamed_on_pods: Mapping[str, str] = field(default_factory=dict)
    """The same, for pods that are no part of another object."""


def workloads_of(dialect: Dialect, manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the objects with pods that name a queue or the system's scheduler. Raises Problem for two of one name."""
    found = [
        each
        for each in manifests
        if any(pod_specs(each.body)) and (any(_queues(dialect, each.body)) or _is_scheduled(dialect, each.body))
    ]
    check_unique(found)
    return found


def convert_workloads(
    dialect: Dialect, workloads: Sequence[Manifest], groups: Mapping[str, str], default: str | None, made: Conversion
) -> None:
    """Add the workloads with the label of their group; `default`: the group of those that name no queue, if any."""
    for manifest in workloads:
        named = list(_queues(dialect, manifest.body))
        unknown = [(place, name) for place, name in named if name not in groups]
        for place, name in unknown:
            made.note(manifest, place, f"queue {name} is not in the files; left out")
        if not unknown:
            found = {groups[name] for _, name in named} or ({default} if default is not None else set())
            made.workloads.append(_convert(dialect, manifest, groups, found, made))


def names_no_queue(dialect: Dialect, manifest: Manifest) -> bool:
    """Return whether the object is in the system's default queue."""
    return not any(_queues(dialect, manifest.body))


def _queues(dialect: Dialect, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field, name) of every queue that the object names."""
    for place, holder in label_holders(body):
        for kept in ("labels", "annotations"):
            for key in dialect.queue_keys:
                if key in (holder.get(kept) or {}):
                    yield f"{place}.{kept}[{key}]", str(holder[kept][key])


def _is_scheduled(dialect: Dialect, body: Mapping[str, Any]) -> bool:
    return any(spec.get("schedulerName") in dialect.schedulers for spec in pod_specs(body))


def _convert(
    dialect: Dialect, manifest: Manifest, groups: Mapping[str, str], found: Set[str], made: Conversion
) -> dict[str, Any]:
    """Return the object with its labels where they have effect; with several queues, each where it was named."""
    body = deepcopy(as_written(manifest))
    renamed = {**dialect.renamed, **(dialect.renamed_on_pods if manifest.kind == "Pod" else {})}
    is_one = len(found) == 1
    labels_of_all = {GROUP_LABEL: next(iter(found))} if is_one else {}
    for place, holder in list(label_holders(body)):
        labels, annotations = holder.get("labels") or {}, holder.get("annotations") or {}
        names = [kept.pop(key) for kept in (labels, annotations) for key in dialect.queue_keys if key in kept]
        ours = {renamed[key]: kept.pop(key) for kept in (labels, annotations) for key in list(kept) if key in renamed}
        if is_one:
            labels_of_all |= ours
        elif names or ours:
            holder["labels"] = {**labels, **ours, **({GROUP_LABEL: groups[names[0]]} if names else {})}
        _leave_out(manifest, place, holder, dialect, made)
        drop_empty(holder)
    if labels_of_all:
        write_labels(manifest, body, labels_of_all, made)
    for spec in pod_specs(body):
        if spec.get("schedulerName") in dialect.schedulers:
            del spec["schedulerName"]
    return body


def _leave_out(manifest: Manifest, place: str, holder: dict[str, Any], dialect: Dialect, made: Conversion) -> None:
    """Take out what else the system reads, and note it."""
    for kept in ("labels", "annotations"):
        for key in [each for each in holder.get(kept) or {} if each.startswith(dialect.prefixes)]:
            del holder[kept][key]
            made.note(manifest, f"{place}.{kept}[{key}]", _NO_COUNTERPART)
