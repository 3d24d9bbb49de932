"""What one version of an object says, as the checker reads it. Pure."""

from dataclasses import dataclass
from typing import Any, Final

from shared.api.core.job import Job, read_job
from shared.api.core.pod import Pod, read_pod
from shared.kinds.kind_object import KindObject
from shared.kinds.presets import all_presets
from shared.kinds.reading import read_kind_object
from shared.quota.model.read.groups import read_group
from shared.quota.model.read.pods import unit_key
from shared.quota.model.tree import Group

_PRESETS: Final = all_presets()
JOBSET: Final = next(each for each in _PRESETS.all if each.kind == "JobSet")


@dataclass(frozen=True, slots=True)
class Lease:
    """Who leads, as stored; empty: no process."""

    holder: str


@dataclass(frozen=True, slots=True)
class Shutter:
    """Whether a node is closed to new pods."""

    node: str
    is_down: bool


Submitted = Job | Pod | KindObject
"""What a user submits, and what operators make for it."""
Record = Submitted | Group | Lease | Shutter


def read_record(resource: str, body: dict[str, Any]) -> Record:
    """The object of that resource."""
    if resource == "jobs":
        return read_job(body)
    if resource == "pods":
        return read_pod(body)
    if resource == JOBSET.resource:
        return read_kind_object(JOBSET, body)
    if resource == "quotagroups":
        return read_group(body)
    if resource == "nodes":
        return Shutter(body["metadata"]["name"], bool(body.get("spec", {}).get("unschedulable")))
    return Lease(body.get("spec", {}).get("holderIdentity") or "")


def account_key(owner: Job | KindObject) -> str:
    """Under which key pods name what accounts for them."""
    metadata = owner.metadata
    return metadata.uid if isinstance(owner, Job) else unit_key(metadata.uid, metadata.namespace)


def is_child(record: Submitted) -> bool:
    """Whether an object of a governed kind made it: by its controller, whatever its labels say."""
    controller = record.metadata.controller
    return controller is not None and _PRESETS.find(controller.api_version, controller.kind) is not None
