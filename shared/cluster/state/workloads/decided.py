"""Turns what is decided, and what writes have shown, into changes of the workloads. Pure."""

from collections.abc import Iterable
from datetime import datetime

from shared.cluster.state.expected.assumptions import Mark
from shared.cluster.state.expected.delays import Delay
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.cluster.state.workloads.observed import ObservedWorkloads
from shared.cluster.state.workloads.readings import WorkloadReadings
from shared.quota.model.workload import Workload


class DecidedWorkloads:
    """What is decided, until the watches show it."""

    def __init__(self, readings: WorkloadReadings, observed: ObservedWorkloads) -> None:
        self._objects = readings.objects
        self._overlay = readings.overlay
        self._refresh = observed.refresh

    def assume(self, key: str, workload: Workload, mark: Mark) -> None:
        """Count `workload` as a pending write will change it."""
        objects = [each.metadata for each in self._objects.of(key)]
        if workload.admission is not None and workload.kind == "PodGroup" and self._objects.members.of(key) is None:
            self._objects.members.start(key, (each.uid for each in objects))
        self._overlay.assumptions.make(key, workload, mark, objects)
        self._refresh(key)

    def forget(self, key: str, mark: Mark, failed: Iterable[str] | None = None) -> None:
        """Count what the watch reports: the write has failed on the objects with these uids; None: on all."""
        if self._overlay.assumptions.drop(key, mark, failed):
            self._refresh(key)

    def keep_unwritten(self, key: str, annotations: AnnotationPatch) -> None:
        """Count these annotations as written: the objects have no space for them."""
        self._overlay.unwritten.keep(key, annotations)
        self._refresh(key)

    def park(self, key: str, until: datetime) -> None:
        """Do not write the workload until then, or until its spec has changed."""
        for each in self._objects.of(key)[:1]:
            self._overlay.assumptions.park(key, each.metadata.generation, until)
            self._refresh(key)

    def block(self, key: str, flavors: Iterable[str]) -> None:
        """Its pods contradict these flavors: do not offer them until its spec has changed."""
        for each in self._objects.of(key)[:1]:
            self._overlay.assumptions.block(key, each.metadata.generation, flavors)
            self._refresh(key)

    def stop_waiting_for_answer(self, delay: Delay) -> None:
        """The time limit has passed for its controller to acknowledge the suspension of this object."""
        self._overlay.revoked_starts.give_up(delay)
        self._refresh(delay.key)

    def stop_waiting_for_more_pods(self, delay: Delay) -> None:
        """The time limit has passed for this stopped object of a governed kind to show more pods."""
        self._overlay.early_stops.give_up(delay)
        self._refresh(delay.key)
