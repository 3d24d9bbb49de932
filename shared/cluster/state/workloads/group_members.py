"""Which pods are members of a started pod group: those that its admission names. Pure.

A pod that gets the group's label later is a workload of its own, and so is one that runs without an admission.
Otherwise a small group, once started, or a pod that was never admitted, would admit any number of pods of any size.
"""

from collections.abc import Iterable
from typing import Final

from shared.api.annotations import AdmissionAnnotation, BadAnnotation, read_admission
from shared.api.core.pod import Pod
from shared.quota.model.read.pods import pod_group_of, started_group_of

_PREFIX: Final = 8
"""The number of characters of a uid that identify a member."""


def names_of(uids: Iterable[str]) -> tuple[str, ...]:
    """The names of the pods with these uids in an admission."""
    return tuple(sorted(uid[:_PREFIX] for uid in uids))


class GroupMembers:
    """The members of each started group, by the group's key."""

    def __init__(self) -> None:
        self._members: dict[str, frozenset[str]] = {}

    def key_of(self, pod: Pod) -> str:
        """Return the workload of the pod: its pod group, unless it joined that after the start; else itself."""
        uid = pod.metadata.uid
        if not pod.is_gated:
            return started_group_of(pod) or uid
        group = pod_group_of(pod)
        if group is None:
            return uid
        members = self._members.get(group)
        return group if members is None or uid[:_PREFIX] in members else uid

    def of(self, key: str) -> tuple[str, ...] | None:
        """Return the members of a started group according to its admission; None for any other workload."""
        members = self._members.get(key)
        return None if members is None else tuple(sorted(members))

    def start(self, key: str, uids: Iterable[str]) -> None:
        """Record that the group is started with these pods."""
        self._members[key] = frozenset(names_of(uids))

    def learn(self, pod: Pod) -> bool:
        """Process a pod of a started group; return whether the members of the group were unknown until now."""
        group, admission = pod_group_of(pod), _admission_of(pod)
        if group is None or group in self._members or admission is None or not admission.members:
            return False
        self._members[group] = frozenset(admission.members)
        return True

    def forget(self, key: str) -> bool:
        """Drop a group that is pending again or gone; return whether it was started."""
        return self._members.pop(key, None) is not None


def _admission_of(pod: Pod) -> AdmissionAnnotation | None:
    try:
        return read_admission(pod.metadata.annotations)
    except BadAnnotation:
        return None
