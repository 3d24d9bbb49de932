"""When a started Job's pods are replaced: after they have ended, so that deleting them does not multiply the Job.

A pod on a node that does not answer never ends. Once its kubelet would have killed it, the Job may replace it all the
same. See docs/decisions/0012-pods-are-replaced-when-they-have-ended.md. Pure.
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from shared.api.core.job import WHEN_ENDED, Job
from shared.api.durations import later
from shared.api.names import REPLACEMENT
from shared.cluster.state.observed.job_pods import PodSums
from shared.quota.model.workload import Workload

_LATE: Final = timedelta(minutes=1)
"""How long after its deadline a pod that has not ended counts as lost."""
_AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)


class PolicyChange(NamedTuple):
    """Give the Job this podReplacementPolicy, from that moment on."""

    policy: str
    due: datetime


def policy_change(job: Job, workload: Workload, sums: PodSums | None, now: datetime | None) -> PolicyChange | None:
    """Return the change that the Job needs; None: its policy is as it should be.

    A policy that waits for the end of pods and that its owner chose is left alone, also where pods are lost.
    """
    given, policy = job.metadata.annotations.get(REPLACEMENT), job.replaces
    if workload.admission is None or workload.is_evicting or job.spec.suspend or not job.has_own_controller:
        return None
    lost_from = None if given is None or sums is None else _lost_from(job, sums)
    if policy == WHEN_ENDED:
        return None if given is None or lost_from is None else PolicyChange(given, lost_from)
    is_lost = lost_from is not None and now is not None and lost_from <= now
    return None if is_lost else PolicyChange(WHEN_ENDED, _AT_ONCE)


def _lost_from(job: Job, sums: PodSums) -> datetime | None:
    """Return from when a deleted pod of the Job counts as lost; None: no pod is to be replaced."""
    if sums.active >= job.pods_left:
        return None
    return min((later(each, _LATE) for each in sums.ends_by), default=None)
