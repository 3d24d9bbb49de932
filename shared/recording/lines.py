"""The lines of a log: one of JSON for each object that came, changed or went.

{"time": …, "object": {…}}, or {"time": …, "deleted": "Job/default/train"}, or {"time": …, "whole": 812}: the last 812
lines before this one name every object that there is; what was there before and is not named by them is gone.
{"time": …, "decided": true, "noted": ["Job/default/train"], "freed": ["Job/default/batch"], "ended": ["Job/ns/a"]}:
at that time the leader decided, knowing all lines before this one, all objects that the file lists at its beginning,
and nothing after it; since it decided last, controllers had noted the start of the first, and the last pods were gone
of the second, which is evicted, and of the third, which ran.
{"time": …, "order": [1795722343, 12, 0]}: such logs follow each other in that order, whatever their clocks say.

Objects are kept without what changes all the time and decides nothing (heartbeats, fields of managers, statuses of
groups), and without what containers are told (commands, environment), which can be secret.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from shared.json_data import Json
from shared.quota.model.workload import Workload

_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
)
_NODE_STATUS: Final = ("allocatable", "conditions")
_READY: Final = "Ready"
_NO_STATUS: Final = frozenset({"QuotaGroup", "ResourceFlavor", "Namespace", "LimitRange"})
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})
_OF_CONTAINERS: Final = frozenset({"name", "image", "resources", "restartPolicy", "ports"})
_DEEPEST: Final = 40
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class LogLine(msgspec.Struct, omit_defaults=True):
    """One line."""

    time: datetime
    object: dict[str, Any] | None = None
    deleted: str = ""
    whole: int = 0
    decided: bool = False
    noted: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    order: tuple[int, ...] = ()

    @property
    def says_more(self) -> bool:
        """Whether it says of workloads what no object says."""
        return bool(self.noted or self.freed or self.ended)


class _ObjectLine(msgspec.Struct):
    """A line whose object is JSON already."""

    time: datetime
    object: msgspec.Raw


def is_object_log(first_line: str) -> bool:
    """Return whether a file with this first line is such a log."""
    return first_line.startswith('{"time":')


def encode_line(line: LogLine) -> bytes:
    """Return the line as it is written."""
    return msgspec.json.encode(line) + b"\n"


def encode_object(time: datetime, body: bytes) -> bytes:
    """Return the line of an object that `encode_body` has encoded."""
    return msgspec.json.encode(_ObjectLine(time, msgspec.Raw(body))) + b"\n"


def encode_body(body: Json) -> bytes:
    """Return what is kept of an object as JSON, equal for equal objects."""
    return _ENCODER.encode(body)


def log_name(kind: str, metadata: Mapping[str, Any]) -> str:
    """Return the name by which the log calls an object of a cluster."""
    namespace = metadata.get("namespace")
    return f"{kind}/{namespace}/{metadata['name']}" if namespace else f"{kind}/{metadata['name']}"


def log_name_of(workload: Workload) -> str:
    """Return the name by which the log calls the object of a workload."""
    return f"{workload.kind}/{workload.key}"


def recorded_body(api_version: str, kind: str, body: Mapping[str, Any]) -> Json:
    """Return what is kept of an object."""
    metadata = {name: body["metadata"][name] for name in _METADATA if name in body.get("metadata", {})}
    if _APPLIED in metadata.get("annotations", ()):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != _APPLIED}
    kept = {**body, "apiVersion": api_version, "kind": kind, "metadata": metadata}
    if "spec" in kept:
        kept["spec"] = _without_secrets(kept["spec"], _DEEPEST)
    if kind in _NO_STATUS:
        kept.pop("status", None)
    elif kind == "Node":
        status = {name: value for name, value in body.get("status", {}).items() if name in _NODE_STATUS}
        ready = [each for each in status.get("conditions", []) if each.get("type") == _READY]
        state = [{name: value for name, value in each.items() if name != "lastHeartbeatTime"} for each in ready]
        kept["status"] = {**status, "conditions": state}
    return kept


def _without_secrets(value: Any, depth: int) -> Any:
    """Return a part of a spec; of its containers only what can count for quota. Nothing is kept below `depth`."""
    if isinstance(value, list):
        return [_without_secrets(each, depth - 1) for each in value] if depth else []
    if not isinstance(value, dict):
        return value
    return {
        name: [_container(each) for each in inner]
        if name in _CONTAINERS and isinstance(inner, list)
        else _without_secrets(inner, depth - 1)
        for name, inner in value.items()
        if depth
    }


def _container(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: inner for name, inner in value.items() if name in _OF_CONTAINERS}
