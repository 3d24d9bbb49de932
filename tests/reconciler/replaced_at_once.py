"""`python -m tests.reconciler.replaced_at_once --config FILE`: a reconciler without what decision 12 describes.

It leaves every Job its podReplacementPolicy. With $COUNT_TERMINATING it does instead what was considered there: a
Job's deleted pods that have not ended count as its own use, and with that against ceilings.
"""

import os
import sys
from dataclasses import replace
from typing import Any

from reconciler.__main__ import main
from reconciler.write import patches
from shared.api.core.job import Job
from shared.cluster.state.observed.job_pods import PodSums, add_up
from shared.cluster.state.observed.job_use import Use, use_of_job
from shared.cluster.state.sorts.job import JobSort
from shared.quota.model.workload import Workload


def use_with_terminating(
    _sort: JobSort, job: Job, workload: Workload, sums: PodSums | None, last: Workload | None
) -> Use:
    """What the Job counts as, its terminating pods included."""
    use = use_of_job(job, workload, sums, last)
    if use.counted is None or use.beside is None or use.counted.admission is None:
        return use
    return Use(replace(use.counted, request=add_up((use.counted.request, use.beside.request))))


def nothing(*_arguments: Any) -> list[Any]:
    """No operation."""
    return []


if __name__ == "__main__":
    patched: Any = patches
    patched.replace_pods, patched._given_policy = nothing, lambda _job: {}
    sort: Any = JobSort
    sort.policy_change = lambda *_arguments: None
    if os.environ.get("COUNT_TERMINATING"):
        sort.use = use_with_terminating
    sys.exit(main())
