"""A Job is resumed and suspended. Pure."""

from reconciler.write import patches
from reconciler.write.sorts.sort import FlavorsOf, PodSetOf, WriteSort
from shared.api.core.job import Job
from shared.api.json.patches import Operation
from shared.api.names import MAIN_POD_SET
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.kube.resources import JOBS, Resource
from shared.quota.decide.decisions import Start


class JobWrites(WriteSort[Job]):
    """What is written on a Job."""

    def resource(self, _seen: Job) -> Resource:
        """Return the resource of Jobs."""
        return JOBS

    def start(
        self, seen: Job, start: Start, written: AnnotationPatch, flavors: FlavorsOf, _pod_set_of: PodSetOf
    ) -> list[Operation]:
        """Resume it on the nodes of its flavors."""
        return patches.start_job(seen, start.workload.group, written, flavors(MAIN_POD_SET))

    def evict(self, seen: Job, group: str, written: AnnotationPatch, guard: patches.Guard) -> list[Operation]:
        """Suspend it."""
        return patches.evict_job(seen.metadata, group, written, guard)

    def change_policy(self, seen: Job, group: str, policy: str) -> list[Operation]:
        """Set its podReplacementPolicy."""
        return patches.change_policy(seen, group, policy)

    def least_eviction(self, seen: Job) -> list[Operation]:
        """Suspend it, and nothing else."""
        return patches.suspend_job(seen.metadata)
