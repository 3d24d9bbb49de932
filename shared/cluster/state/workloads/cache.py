"""The parts of the workloads, put together. Pure."""

from shared.api.core.job import Job
from shared.cluster.state.faults.register import Faults
from shared.cluster.state.observed.job_pods import JobPods
from shared.cluster.state.workloads.decided import DecidedWorkloads
from shared.cluster.state.workloads.observed import ObservedWorkloads
from shared.cluster.state.workloads.owners import OwnersOfPods
from shared.cluster.state.workloads.reader import WorkloadReader
from shared.cluster.state.workloads.readings import WorkloadReadings
from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.model.workload import Workload


class WorkloadCache:
    """All workloads, part by part."""

    def __init__(self, reader: WorkloadReader, job_pods: JobPods, faults: Faults) -> None:
        self.readings = WorkloadReadings(reader, job_pods, faults)
        self.index = self.readings.index
        """The workloads as they count now."""
        self.objects = self.readings.objects
        """What they are read from."""
        self.overlay = self.readings.overlay
        """What is laid over that."""
        self.follow_ups = self.readings.follow_ups
        """What is left to write or to report."""
        self.owners = OwnersOfPods(self.readings)
        self.observed = ObservedWorkloads(self.readings, self.owners)
        self.decided = DecidedWorkloads(self.readings, self.observed)

    @property
    def changed(self) -> bool:
        """Whether a cycle has something new to decide, to write or to report."""
        return self.index.changed or self.follow_ups.changed

    def changes(self) -> list[WorkloadChange]:
        """(before, after) of each workload that changed since the last call."""
        self.follow_ups.changed = False
        return self.index.changes()

    def read_alone(self, job: Job) -> Workload | None:
        """Return the workload that a Job would be that is not counted."""
        return self.readings.reader.read(job.metadata.uid, [job]).workload
