"""What reading the workloads leaves others to write or to report, by workload key. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.cluster.state.observed.gangs import SeenPodGroup, WantedPodGroup
from shared.cluster.state.observed.pod_replacement import PolicyChange
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.kube.watch.cache import Change
from shared.quota.model.workload import Workload

_MOST_PREEMPTED: Final = 1000
"""How many workloads are kept whose pods kube-scheduler has stopped: a replica that does not lead reports none."""


@dataclass(slots=True)
class PreemptedPods:
    """Pods of one workload that kube-scheduler has chosen to stop, and the workload as it was then."""

    workload: Workload
    objects: list[WorkloadObject]
    pods: int = 0


class FollowUps:
    """Each is removed by who has written or reported it, or when the objects no longer say so."""

    def __init__(self) -> None:
        self.unadmitted_running: dict[str, Workload] = {}
        """Workloads that run without an admission."""
        self.incomplete: set[str] = set()
        """Pods of which some are started or evicted, and others not yet."""
        self.unready: set[str] = set()
        """Workloads whose pods were all ready since the start and are not any more; not yet written on them."""
        self.policy_changes: dict[str, PolicyChange] = {}
        """Started Jobs that need another podReplacementPolicy."""
        self.pod_groups: dict[str, WantedPodGroup] = {}
        """The PodGroups that the pods of started Jobs are placed with."""
        self.kept_start_times: set[str] = set()
        """Suspended Jobs whose start time Kubernetes has not reset."""
        self.problems: dict[str, tuple[str, ...]] = {}
        """What is wrong with what objects say."""
        self.new_problems: dict[str, tuple[str, ...]] = {}
        """Those of `problems` that are not reported yet; the reporter removes them."""
        self.preempted: dict[str, PreemptedPods] = {}
        """Workloads whose pods kube-scheduler stops, until that is reported."""
        self.changed = False
        """Whether a cycle has something new to write or to report."""

    def add_preempted(self, key: str, workload: Workload, objects: list[WorkloadObject]) -> None:
        """Count one more pod of a workload that kube-scheduler stops."""
        if key in self.preempted or len(self.preempted) < _MOST_PREEMPTED:
            self.preempted.setdefault(key, PreemptedPods(workload, objects)).pods += 1

    def change_policy(self, key: str, change: PolicyChange | None) -> None:
        """Set which podReplacementPolicy a Job needs; None: the one that it has."""
        if change is None:
            self.policy_changes.pop(key, None)
        elif self.policy_changes.get(key) != change:
            self.policy_changes[key] = change
            self.changed = True

    def want_pod_group(self, key: str, wanted: WantedPodGroup | None) -> None:
        """Set which PodGroup the pods of a Job are placed with; None: no one that Quotree makes."""
        if self.pod_groups.get(key) == wanted:
            return
        self.changed = True
        if wanted is None:
            del self.pod_groups[key]
        else:
            self.pod_groups[key] = wanted

    def observe_pod_groups(self, _changes: Sequence[Change[SeenPodGroup]]) -> None:
        """Process changes of the PodGroups that Quotree has made: no decision is made on them, but they are written."""
        self.changed = True

    def set_problems(self, key: str, problems: tuple[str, ...]) -> None:
        """Set what is wrong with what the objects of a workload say."""
        if problems == self.problems.get(key, ()):
            return
        if problems:
            self.problems[key] = self.new_problems[key] = problems
            self.changed = True
        else:
            del self.problems[key]
            self.new_problems.pop(key, None)

    def set_incomplete(self, key: str, *, is_incomplete: bool) -> None:
        """Set whether only some pods of a workload are started or evicted."""
        self._set(self.incomplete, key, is_member=is_incomplete)

    def keep_start_time(self, key: str, *, keeps: bool) -> None:
        """Set whether a suspended Job still shows when it last started."""
        self._set(self.kept_start_times, key, is_member=keeps)

    def _set(self, keys: set[str], key: str, *, is_member: bool) -> None:
        if is_member:
            keys.add(key)
            self.changed = True
        else:
            keys.discard(key)

    def forget(self, key: str) -> None:
        """Drop what was found of a workload that is gone, but for its problems, which its objects have."""
        self.unready.discard(key)
        self.kept_start_times.discard(key)
        self.policy_changes.pop(key, None)
        self.want_pod_group(key, None)
