"""YuniKorn's queues, from its ConfigMap or the file in it: guaranteed is min, max is max.

`maxapplications` is a max of workloads. A queue is named by its path; its group has a name that an object may have:
`last_resort` becomes `last-resort`. Where users have limits they take turns: no amount is any one user's here.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from cli.convert.conversion import Conversion, read_one, where
from cli.convert.draft import NamedParent, QuotaGroupDraft, cover_children, cover_parents, cover_requested, set_parents
from cli.convert.queued_workloads import Dialect, convert_workloads, workloads_of
from cli.convert.workload_labels import requested_resources
from cli.read.manifests import Manifest
from cli.read.yaml_bounds import load_bounded
from shared.api.names import WORKLOAD_COUNT
from shared.problems import Problem

KEY: Final = "queues.yaml"
DIALECT: Final = Dialect(
    queue_keys=("yunikorn.apache.org/queue", "queue"),
    prefixes=("yunikorn.apache.org/",),
    schedulers=frozenset({"yunikorn"}),
)
_NAME: Final = "yunikorn-configs"
_ROOT: Final = "root"
_PARTITIONS: Final = "partitions"
_APPLICATIONS: Final = "maxapplications"
_NAMES: Final = {"vcore": "cpu"}
_READ: Final = frozenset({"name", "parent", "queues", "resources", _APPLICATIONS})
_LIMITS: Final = "limits"
_USERS_LIMITED: Final = (
    "let the users take turns in its leaves (queueing.order: User), so that none keeps others out; amounts for one "
    "user or group are left out: who needs one needs a leaf of its own"
)
_LOSSES: Final = {
    _LIMITS: "are left out: limits of groups of users have no counterpart; who needs one needs a leaf of its own",
    "childtemplate": "is left out: groups are not made of themselves",
}


def read_yunikorn(files: Sequence[str]) -> tuple[list[Manifest], list[str]]:
    """Return what stands in those files that are a `queues.yaml`, as the ConfigMap it is for, and the other files."""
    found = {file: text for file in files if (text := _partitions_in(Path(file))) is not None}
    of_files = [Manifest("ConfigMap", "v1", _NAME, None, {"data": {KEY: found[each]}}, each, 1, "") for each in found]
    return of_files, [each for each in files if each not in found]


def _partitions_in(file: Path) -> str | None:
    """Return the text of a file that begins with the partitions, or with `queues.yaml:` and their text below."""
    if not file.is_file():
        return None
    try:
        text = file.read_text()
        # Others are parsed when their objects are read.
        found = load_bounded(text) if _PARTITIONS in text or KEY in text else None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "kind" in found:
        return None
    below = found.get(KEY)
    return text if _PARTITIONS in found else below if isinstance(below, str) else None


def convert_yunikorn(manifests: Sequence[Manifest], made: Conversion) -> None:
    """Add the group of every queue below root of the first partition, and the workloads that name one."""
    named: list[NamedParent] = []
    for manifest in manifests:
        if manifest.kind == "ConfigMap" and KEY in (manifest.body.get("data") or {}):
            named += _read_partitions(manifest, made)
    groups = set_parents(named, (_ROOT,))
    for draft in groups.values():
        draft.is_parent = any(other.parent == draft.name for other in groups.values())
    if not groups:
        return
    cover_requested(groups, requested_resources(manifests))
    cover_children(groups, additive=False)
    cover_parents(groups)
    by_path: Mapping[str, str] = {each.source: each.draft.name for each in named}
    convert_workloads(DIALECT, workloads_of(DIALECT, manifests), by_path, None, made)


def _read_partitions(manifest: Manifest, made: Conversion) -> Iterator[NamedParent]:
    place = f"data[{KEY}]"
    try:
        config = load_bounded(manifest.body["data"][KEY])
        partitions = list(config["partitions"])
        queues = list(_below(partitions[0]["queues"], ()))
        by_user = {path for path, queue in queues if _limits_users(queue)}
    except (yaml.YAMLError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Problem(f"{where(manifest, place)}: is no list of partitions with queues: {error}") from error
    for partition in partitions[1:]:
        made.note(manifest, place, f"partition {partition.get('name')} is left out: give its nodes a flavor")
    for field in sorted(partitions[0].keys() - {"name", "queues"}):
        made.note(manifest, place, f"{field} has no counterpart and is left out")
    last = [path[-1] for path, _ in queues]
    for path, queue in queues:
        _note_losses(manifest, ".".join(path), queue, made)
        if len(path) == 1:
            continue
        name = path[-1] if last.count(path[-1]) == 1 else "-".join(path[1:])
        draft = made.add_group(manifest, name.lower().replace("_", "-"), "queue")
        _set_amounts(manifest, ".".join(path), draft, queue.get("resources") or {})
        if queue.get(_APPLICATIONS):
            most = read_one(manifest, f"data[{KEY}] {'.'.join(path)}", WORKLOAD_COUNT, queue[_APPLICATIONS])
            draft.set("max", {WORKLOAD_COUNT: most})
        if not queue.get("queues") and any(path[: len(above)] == above for above in by_user):
            draft.spec["queueing"] = {"order": "User"}
        yield NamedParent(draft, ".".join(path), ".".join(path[:-1]))


def _below(queues: Sequence[Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for queue in queues:
        path = (*above, str(queue["name"]))
        yield path, queue
        yield from _below(queue.get("queues") or (), path)


def _limits_users(queue: Mapping[str, Any]) -> bool:
    """Return whether the queue limits what one user has, in it and below."""
    return any(each.get("users") for each in queue.get(_LIMITS) or ())


def _note_losses(manifest: Manifest, path: str, queue: Mapping[str, Any], made: Conversion) -> None:
    for field in sorted(queue.keys() - _READ):
        text = _LOSSES.get(field, "has no counterpart and is left out")
        text = _USERS_LIMITED if field == _LIMITS and _limits_users(queue) else text
        made.note(manifest, f"data[{KEY}]", f"{field} of {path} {text}")
    for field in ("resources", _APPLICATIONS) if path == _ROOT else ():
        if queue.get(field):
            made.note(manifest, f"data[{KEY}]", f"{field} of root are left out: give the group root a max")


def _set_amounts(manifest: Manifest, path: str, draft: QuotaGroupDraft, resources: Mapping[str, Any]) -> None:
    for field, limit in (("guaranteed", "min"), ("max", "max")):
        for name, quantity in (resources.get(field) or {}).items():
            resource = _NAMES.get(name, name)
            draft.set(limit, {resource: read_one(manifest, f"data[{KEY}] {path}", resource, quantity)})
