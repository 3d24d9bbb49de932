"""Starts that ended while nobody led, as Jobs tell that finished or were evicted: for the accounts. Pure.

See docs/specification.md §9.7.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from shared.api.annotations import EvictionAnnotation, read_annotations
from shared.api.core.job import Job, JobStatus
from shared.api.json.reading import aware
from shared.quota.measure.accounts.leaf_use import EndedUse, run_of, summed
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.inputs.workload_set import amounts_in
from shared.quota.model.read.jobs import reason_of
from shared.quota.model.workload import EvictionReason, Flavors, Workload


def ended_uses(job: Job, read: Callable[[Job], Workload | None]) -> Iterator[EndedUse]:
    """Yield the Job's last start, if the Job has finished, and the one that its latest eviction ended.

    `read`: returns a Job as a workload. What it used is what its template says.
    """
    annotations = read_annotations(job.metadata.annotations)
    admission, eviction, finished = annotations.admission, annotations.eviction, job.finished_at
    is_evicted = eviction is not None and eviction.since is not None
    if job.metadata.unit or not (is_evicted or (admission is not None and finished is not None)):
        return
    spec = msgspec.structs.replace(job.spec, suspend=False)
    workload = read(msgspec.structs.replace(job, spec=spec, status=JobStatus()))
    if workload is None:
        return
    if admission is not None and finished is not None:
        use = _ended(workload, admission.assigned, admission.time, finished)
        yield use._replace(run=run_of(workload, use.start, use.end))
    if eviction is not None and is_evicted and (admission is None or admission.time > eviction.time):
        yield _evicted(workload, eviction, still_runs=job.has_pods and admission is None)


def _evicted(workload: Workload, eviction: EvictionAnnotation, *, still_runs: bool) -> EndedUse:
    since = eviction.since or eviction.time
    end = eviction.time if eviction.ended is None or still_runs else eviction.ended
    used = _ended(workload, eviction.assigned, since, end)
    if reason_of(eviction) is EvictionReason.SUSPENDED:
        return used
    return used._replace(evicted=milliseconds(eviction.time))


def _ended(workload: Workload, flavors: Flavors, since: datetime, end: datetime) -> EndedUse:
    start = workload.uid or workload.key, milliseconds(aware(since))
    use = summed(amounts_in(workload, flavors))
    return EndedUse(workload.group, workload.key.partition("/")[0], start, use, milliseconds(aware(end)))
