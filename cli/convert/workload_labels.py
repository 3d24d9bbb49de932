"""Where a workload names its group: on itself, or in the templates of what its controller makes.

Also what else all systems do to a workload: its pod specs, its own flag of suspension, and whether Quotree governs it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from cli.convert.conversion import Conversion
from cli.read.manifests import Manifest
from shared.api.names import COUNTED, GROUP_LABEL
from shared.kinds.kind import Kind
from shared.kinds.presets import all_presets

_NONE: Final[Mapping[str, str]] = {}
_REQUESTED: Final = ("cpu", "memory")
_POD_TEMPLATE: Final = ("spec", "template", "metadata")
_IN_TEMPLATES: Final[Mapping[tuple[str, str], tuple[tuple[str, ...], ...]]] = {
    ("apps", "Deployment"): (_POD_TEMPLATE,),
    ("apps", "StatefulSet"): (_POD_TEMPLATE,),
    ("apps", "ReplicaSet"): (_POD_TEMPLATE,),
    ("apps", "DaemonSet"): (_POD_TEMPLATE,),
    ("", "ReplicationController"): (_POD_TEMPLATE,),
    ("batch", "CronJob"): (("spec", "jobTemplate", "metadata"),),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        ("spec", "leaderWorkerTemplate", "leaderTemplate", "metadata"),
        ("spec", "leaderWorkerTemplate", "workerTemplate", "metadata"),
    ),
    ("trainer.kubeflow.org", "TrainJob"): (("spec",),),
}
"""API group and kind -> what has the labels that Quotree reads, where that is not the object's own metadata."""
_OPTIONAL: Final = "leaderTemplate"
"""A template that need not be there; the pods are then made of another one."""
_CRON_JOB: Final = ("batch", "CronJob")
_OWN: Final = frozenset({("batch", "Job"), ("", "Pod")})
"""Governed without a descriptor."""


def write_labels(
    manifest: Manifest,
    body: dict[str, Any],
    labels: Mapping[str, str],
    made: Conversion,
    annotations: Mapping[str, str] = _NONE,
) -> None:
    """Write these labels and annotations where they have effect; note what has to be done for objects of this kind."""
    for holder in _holders(manifest, body, made):
        holder["labels"] = {**(holder.get("labels") or {}), **labels}
        if annotations:
            holder["annotations"] = {**(holder.get("annotations") or {}), **annotations}


def _holders(manifest: Manifest, body: dict[str, Any], made: Conversion) -> Iterator[dict[str, Any]]:
    kind = _kind_of(manifest)
    if kind in _IN_TEMPLATES:
        yield from (found for place in _IN_TEMPLATES[kind] if (found := _at(body, place)) is not None)
    elif kind in _OWN or _preset_of(manifest) is not None:
        yield body["metadata"]
    else:
        templates = list(_pod_templates(body))
        yield from (each.setdefault("metadata", {}) for each in templates or [body])
    note_governing(manifest, made)


def note_governing(manifest: Manifest, made: Conversion) -> None:
    """Note, once for each kind, what has to be switched on for it, or that only its pods are governed."""
    kind, preset = _kind_of(manifest), _preset_of(manifest)
    if preset is not None:
        text = f"nothing holds a {manifest.kind} unless `integrations` of the chart's values name {preset.kind.lower()}"
    elif kind in _OWN or kind in _IN_TEMPLATES:
        return
    else:
        text = (
            f"no descriptor of {manifest.kind} is shipped: those of its pods that have the label {GROUP_LABEL} "
            "wait one by one; write a descriptor to start them together"
        )
    made.note_once(manifest, "", text)


def drop_suspension(manifest: Manifest, body: dict[str, Any]) -> None:
    """Take out the flag by which other systems hold an object: Quotree sets it by itself."""
    kind, preset = _kind_of(manifest), _preset_of(manifest)
    flag: tuple[str, ...]
    if kind == _CRON_JOB:
        flag = ("spec", "jobTemplate", "spec", "suspend")
    elif kind in _OWN or preset is not None:
        flag = tuple(map(str, preset.suspend)) if preset is not None and preset.suspend else ("spec", "suspend")
    else:
        return
    holder = _at(body, flag[:-1])
    if holder is not None:
        holder.pop(flag[-1], None)


def pod_specs(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every pod spec in an object of any kind: what has a list of containers."""
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from pod_specs(each)


def requested_resources(manifests: Iterable[Manifest]) -> list[str]:
    """Return what almost every pod requests, and what the pods in the files request in addition."""
    found = dict.fromkeys(_REQUESTED)
    for manifest in manifests:
        for spec in pod_specs(manifest.body):
            for container in (*spec["containers"], *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {} if isinstance(container, dict) else {}
                for amounts in (resources.get("requests"), resources.get("limits")):
                    found |= dict.fromkeys(amounts if isinstance(amounts, dict) else ())
    return [each for each in found if each not in COUNTED and each != "ephemeral-storage"]


def label_holders(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (field, mapping) of everything in an object that has labels or annotations, the object's metadata first."""
    if isinstance(value, dict):
        if any(isinstance(value.get(each), dict) for each in ("labels", "annotations")):
            yield place, value
        for key, each in value.items():
            yield from label_holders(each, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from label_holders(each, f"{place}[{at}]")


def drop_empty(holder: dict[str, Any]) -> None:
    """Take out labels and annotations of which none is left."""
    for name in ("labels", "annotations"):
        if name in holder and not holder[name]:
            del holder[name]


def _pod_templates(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _pod_templates(each)


def _at(body: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the mapping at a place, made where its parent has none; None without the template that need not be."""
    found = body
    for step in place:
        if step == _OPTIONAL and step not in found:
            return None
        below = found[step] = found.get(step) or {}
        if not isinstance(below, dict):
            return None
        found = below
    return found


def _kind_of(manifest: Manifest) -> tuple[str, str]:
    group, slash, _ = manifest.api_version.partition("/")
    return group if slash else "", manifest.kind


def _preset_of(manifest: Manifest) -> Kind | None:
    return all_presets().find(manifest.api_version, manifest.kind)
