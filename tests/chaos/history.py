"""What the API server stored, in the order of etcd's revisions: every version of every Job, pod, group and Lease.

It is read from the audit log, which also tells who wrote each version and with which credential. Answers that carry
metadata alone (the reconciler asks for no more) are completed from the version before and the patch itself.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from shared.api.job import Job, read_job
from shared.api.names import API_VERSION
from shared.api.pod import Pod, read_pod
from shared.quota.model.group_reading import read_group
from shared.quota.model.tree import Group

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
                {"group": "", "resources": ["pods", "pods/status"]},
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
class Lease:
    """Who holds the lead, as stored; empty: nobody."""

    holder: str


Record = Job | Pod | Group | Lease


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


_read_line = msgspec.json.Decoder(_Line).decode


def write_policy(path: Path) -> Path:
    """The audit policy that the history needs."""
    path.write_text(json.dumps(POLICY))
    return path


def read_history(log: Path) -> list[Version]:
    """All versions, oldest first; a last line still being written is left out."""
    with log.open("rb") as file:
        lines = [_read_line(line) for line in file if line.endswith(b"\n")]
    return list(_versions(line for line in lines if _has_stored(line)))


def _has_stored(line: _Line) -> bool:
    body = line.response_object
    return line.response_status.code in (200, 201) and isinstance(body, dict) and _revision(body) > 0


def _revision(body: dict[str, Any]) -> int:
    return int(body.get("metadata", {}).get("resourceVersion") or 0)


def _versions(lines: Iterable[_Line]) -> Iterator[Version]:
    last: dict[str, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda each: _revision(each.response_object)):
        body = line.response_object
        uid = body["metadata"]["uid"]
        former = last.get(uid)
        if body["kind"] == "PartialObjectMetadata":
            if former is None:
                continue
            body = _completed(former, body["metadata"], line.request_object)
        if former is not None and _revision(former) == _revision(body):
            continue
        gone = _is_gone(line.verb, body["metadata"])
        last[uid] = body
        yield Version(
            revision=_revision(body),
            received=line.request_received_timestamp,
            uid=uid,
            record=_record(line.object_ref.resource, body),
            user=line.user.username,
            writer=next(iter(line.user.extra.get(CREDENTIAL, ())), line.user.username),
            gone=gone,
            by_status=line.object_ref.subresource == "status",
        )


def _completed(former: dict[str, Any], metadata: dict[str, Any], operations: Any) -> dict[str, Any]:
    """The object after a JSON Patch of which the answer showed the metadata alone: only what the checker reads."""
    spec = dict(former.get("spec", {}))
    for operation in operations if isinstance(operations, list) else ():
        path = operation.get("path", "")
        if path == "/spec/suspend" and operation["op"] == "add":
            spec["suspend"] = operation["value"]
        if path.startswith("/spec/schedulingGates/") and operation["op"] == "remove":
            spec["schedulingGates"] = []
    return {**former, "metadata": metadata, "spec": spec}


def _is_gone(verb: str, metadata: dict[str, Any]) -> bool:
    if metadata.get("finalizers"):
        return False
    asked = "deletionTimestamp" in metadata
    return (verb == "delete" or asked) and not metadata.get("deletionGracePeriodSeconds")


def _record(resource: str, body: dict[str, Any]) -> Record:
    if resource == "jobs":
        return read_job(body)
    if resource == "pods":
        return read_pod(body)
    if resource == "quotagroups":
        return read_group(body)
    return Lease(body.get("spec", {}).get("holderIdentity") or "")
