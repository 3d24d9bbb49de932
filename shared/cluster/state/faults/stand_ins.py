"""What counts in place of an object that is set aside: it says as little as possible, and keeps what it uses. Pure."""

from dataclasses import replace
from typing import Final

from shared.api.core.placement import ANYWHERE
from shared.quota.model.tree import ROOT, SYSTEM, Group
from shared.quota.model.workload import Eviction, EvictionReason, Workload

_NOWHERE: Final = "(set aside)"
"""The parent of a group that is set aside: no group can have this name."""


def stand_in(workload: Workload, reason: str) -> Workload:
    """Return what counts instead: a pending workload is on hold, one that runs uses what it did and is not evicted."""
    bare = Workload(
        key=workload.key,
        group=workload.group,
        request={},
        created=workload.created,
        queued=workload.created,
        uid=workload.uid,
        kind=workload.kind,
    )
    admission = workload.admission
    if admission is None:
        return replace(bare, hold=True, hold_reason=reason)
    ending = Eviction(EvictionReason.SUSPENDED, admission.since) if workload.is_evicting else None
    return replace(
        bare,
        request=workload.request,
        pod_sets=tuple(replace(each, placement=ANYWHERE) for each in workload.pod_sets),
        preemptible=False,
        # Not answered: no rule stops it. Ready: it holds nobody back.
        admission=replace(admission, ready=True, unready_since=None, answered=False),
        eviction=ending,
    )


def stand_in_group(group: Group) -> Group:
    """Return what counts instead: a group that does not reach root, so nothing in its subtree starts or is evicted.

    Root and `system` stay where they are, and limit nothing.
    """
    parent = group.parent if group.name in (ROOT, SYSTEM) else _NOWHERE
    return Group(group.name, parent, group.is_parent, uid=group.uid)
