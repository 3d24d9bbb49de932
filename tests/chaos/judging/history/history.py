"""What the API server stored, in the order of etcd's revisions: all versions of Jobs, JobSets, pods, groups, Leases.

It is read from the audit log, which also says who wrote each version and with which credential. Answers that carry
metadata alone (the reconciler asks for no more) are completed from the version before and the patch itself. A pod that
is evicted before it has a node, or after it has ended, is gone at once, as is a Job without finalizers: then only the
request shows it.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from shared.api.names import API_VERSION
from tests.chaos.judging.final_list import OBSERVE
from tests.chaos.judging.history.records import JOBSET, Record, read_record

WRITES: Final = ["create", "update", "patch", "delete"]
POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "omitManagedFields": True,
    "rules": [
        {
            "level": "RequestResponse",
            "verbs": WRITES,
            "resources": [
                {"group": "batch", "resources": ["jobs", "jobs/status"]},
                {"group": "", "resources": ["pods", "pods/status", "pods/eviction", "nodes"]},
                {"group": JOBSET.group, "resources": [JOBSET.resource, f"{JOBSET.resource}/status"]},
                {"group": API_VERSION.partition("/")[0], "resources": ["quotagroups"]},
            ],
        },
        {
            "level": "RequestResponse",
            "verbs": WRITES,
            "namespaces": ["quotree-system"],
            "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
        },
        {"level": "None"},
    ],
}
CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version of one object. `writer`: the credential, else the user. `gone`: this write removed it."""

    revision: int
    received: datetime
    uid: str
    record: Record
    user: str
    writer: str
    gone: bool = False
    by_status: bool = False
    """Written through the status subresource, which cannot change a spec."""


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    extra: dict[str, list[str]] = {}


class _Target(msgspec.Struct, frozen=True):
    namespace: str = ""
    name: str = ""
    resource: str = ""
    subresource: str = ""


class _Answer(msgspec.Struct, frozen=True):
    code: int = 0


class _Line(msgspec.Struct, rename="camel"):
    verb: str
    request_received_timestamp: datetime
    user: _User = _User()
    object_ref: _Target = _Target()
    response_status: _Answer = _Answer()
    request_object: Any = None
    response_object: Any = None


_START: Final = b'{"kind":"Event",'
_read_line = msgspec.json.Decoder(_Line).decode


def write_policy(path: Path) -> Path:
    """The audit policy that the history needs."""
    path.write_text(json.dumps(POLICY))
    return path


def read_history(log: Path) -> list[Version]:
    """All versions, oldest first; a last line still being written is left out."""
    with log.open("rb") as file:
        lines = [_read(line) for line in file if line.endswith(b"\n")]
    return list(_versions(line for line in lines if any(says(line) for says in _SAYINGS)))


def _read(line: bytes) -> _Line:
    """A line of the log. An API server that is killed leaves half of one, on which its successor goes on writing."""
    try:
        return _read_line(line)
    except msgspec.DecodeError:
        _, start, rest = line.rpartition(_START)
        return _read_line(start + rest)


def _has_stored(line: _Line) -> bool:
    body = line.response_object
    return line.response_status.code in (200, 201) and isinstance(body, dict) and _revision(body) > 0


def _revision(body: dict[str, Any]) -> int:
    return int(body.get("metadata", {}).get("resourceVersion") or 0)


def _has_evicted(line: _Line) -> bool:
    return line.object_ref.subresource == "eviction" and line.response_status.code == 201


def _has_deleted(line: _Line) -> bool:
    """Removed at once: the answer is a Status without the object."""
    body = line.response_object
    return line.verb == "delete" and line.response_status.code == 200 and _is_status(body)


def _tells_who_is_there(line: _Line) -> bool:
    return line.verb == OBSERVE and not _has_stored(line)


_SAYINGS: Final = (_has_stored, _has_evicted, _has_deleted, _tells_who_is_there)
"""A line is of interest if one of these holds."""


def _is_status(body: Any) -> bool:
    return isinstance(body, dict) and body.get("kind") == "Status"


def _placed(lines: Iterable[_Line]) -> list[tuple[int, _Line]]:
    """Each line with its revision, in that order. A removal may be answered without one: that of the moment it came.

    A write that changes nothing shows the revision of another, and may have come before it; a patch with a guard is
    that other: what its guard names was there before.
    """
    latest = 0
    placed = []
    for line in sorted(lines, key=lambda each: each.request_received_timestamp):
        revision = _revision(line.response_object) if _has_stored(line) else latest
        latest = latest if line.verb == OBSERVE else max(latest, revision)
        placed.append((revision, line))
    return sorted(placed, key=lambda each: (each[0], each[1].verb == OBSERVE, not _is_guarded(each[1])))


def _is_guarded(line: _Line) -> bool:
    operations = line.request_object
    return isinstance(operations, list) and any(each.get("op") == "test" for each in operations)


def _versions(lines: Iterable[_Line]) -> Iterator[Version]:
    last: dict[str, dict[str, Any]] = {}
    uids: dict[tuple[str, str, str], str] = {}
    leaving: set[str] = set()
    removed: set[str] = set()
    """Removed by a write that took the last finalizer; it shows an older revision than a status written meanwhile."""
    for revision, line in _placed(lines):
        target = line.object_ref
        if _tells_who_is_there(line):
            missing = {uid for (kind, *_), uid in uids.items() if kind == target.resource}
            for uid in sorted(missing - set(line.response_object["uids"])):
                yield _version(line, last[uid], revision, gone=True)
            continue
        if _has_evicted(line) or _has_deleted(line):
            lost = last.get(uids.get((target.resource, target.namespace, target.name), ""))
            if lost is not None and (_has_deleted(line) or _goes_at_once(lost)):
                yield _version(line, lost, revision, gone=True)
            elif lost is not None:
                leaving.add(lost["metadata"]["uid"])
            continue
        body = line.response_object
        uid = body["metadata"]["uid"]
        previous = last.get(uid)
        if body["kind"] == "PartialObjectMetadata":
            if previous is None:
                continue
            body = _completed(previous, body["metadata"], line.request_object)
        is_gone = _is_gone(line.verb, body["metadata"])
        # The write that takes the last finalizer away removes the object, and shows the revision before.
        if uid in removed or (previous is not None and _revision(previous) == _revision(body) and not is_gone):
            continue
        if is_gone:
            removed.add(uid)
        last[uid] = body
        uids[target.resource, target.namespace, body["metadata"].get("name", "")] = uid
        yield _version(line, body, revision, gone=is_gone)
        if uid in leaving and "deletionTimestamp" not in body["metadata"] and _goes_at_once(body):
            # It had ended before it was evicted, though the log says it in the other order.
            yield _version(line, body, revision, gone=True)


def _goes_at_once(pod: dict[str, Any]) -> bool:
    """Whether a deletion removes it at once: no finalizer, and no node yet or nothing that still runs there."""
    if pod["metadata"].get("finalizers"):
        return False
    return not pod.get("spec", {}).get("nodeName") or pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _version(line: _Line, body: dict[str, Any], revision: int, *, gone: bool) -> Version:
    return Version(
        revision=revision,
        received=line.request_received_timestamp,
        uid=body["metadata"]["uid"],
        record=read_record(line.object_ref.resource, body),
        user=line.user.username,
        writer=next(iter(line.user.extra.get(CREDENTIAL, ())), line.user.username),
        gone=gone,
        by_status=line.object_ref.subresource == "status",
    )


def _completed(previous: dict[str, Any], metadata: dict[str, Any], operations: Any) -> dict[str, Any]:
    """The object after a JSON Patch of which the answer showed the metadata alone: only what the checker reads."""
    spec = dict(previous.get("spec", {}))
    for operation in operations if isinstance(operations, list) else ():
        path = operation.get("path", "")
        if path == "/spec/suspend" and operation["op"] == "add":
            spec["suspend"] = operation["value"]
        if path.startswith("/spec/schedulingGates/") and operation["op"] == "remove":
            spec["schedulingGates"] = []
    return {**previous, "metadata": metadata, "spec": spec}


def _is_gone(verb: str, metadata: dict[str, Any]) -> bool:
    if metadata.get("finalizers"):
        return False
    asked = "deletionTimestamp" in metadata
    return (verb == "delete" or asked) and not metadata.get("deletionGracePeriodSeconds")
