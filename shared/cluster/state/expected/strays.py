"""Pods whose controller does not account for them: a Job that has finished, or a workload that waits. Pure.

At first that is only the watch of pods, which shows their end later. After a time limit they count as unmanaged pods
do, and are told by name. See docs/specification.md §5.7.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.cluster.state.observed.job_pods import JobPods
from shared.quota.measure.static.using_pods import UsingPod


@dataclass(slots=True)
class Strays:
    """The controllers of such pods, by the key of the workload that they are or were."""

    accounts_for_its_pods: Callable[[str], bool]
    pods: JobPods
    new: set[str] = field(default_factory=set)
    """Controllers without a time limit yet; the executor removes them and sets one."""
    untold: list[UsingPod] = field(default_factory=list)
    """Pods that count as unmanaged from now on; the reporter removes them."""
    _awaited: set[str] = field(default_factory=set)
    _told: dict[str, set[str]] = field(default_factory=dict)
    """key -> uids of its pods that have been told."""

    def __contains__(self, key: str) -> bool:
        """Return whether the pods that name this controller count as unmanaged."""
        return key in self._told

    def see(self, key: str) -> bool:
        """Process a change of a controller or of its pods; return whether they count otherwise than before."""
        if key in self.pods and not self.accounts_for_its_pods(key):
            if key in self._told:
                self._tell(key)
            elif key not in self._awaited:
                self._awaited.add(key)
                self.new.add(key)
            return False
        self._awaited.discard(key)
        return self._told.pop(key, None) is not None

    def stop_waiting(self, key: str) -> bool:
        """Time is up for the pods of this controller to end; return whether they count otherwise than before."""
        if key not in self._awaited:
            return False
        self._awaited.discard(key)
        self._told[key] = set()
        self._tell(key)
        return True

    def _tell(self, key: str) -> None:
        told = self._told[key]
        self.untold += (each for each in self.pods.active(key) if each.uid not in told)
        told.update(each.uid for each in self.pods.active(key))
