"""What owners declare of a workload by annotations: it can be read, and is within what its group lets it.

See docs/specification.md §2.6 and §4.7.
"""

from collections.abc import Iterator
from datetime import timedelta

from shared.api.durations import write_duration
from shared.api.names import MAX_RUN_TIME
from shared.api.owner_settings import BadOwnerSetting, read_max_run_time
from shared.quota.model.lifecycle import run_time_in_force
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload, WorkloadContext


def check_owner_settings(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """What its owner declares by annotations can be read."""
    try:
        read_max_run_time(workload.annotations)
    except BadOwnerSetting as error:
        yield workload.violation("BadAnnotation", _field(error.annotation), error.problem)


def warn_run_time_longer(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The workload declares a longer run time than its group lets it have: the group's counts."""
    own = _declared(workload)
    limit = run_time_in_force([context.tree[name] for name in context.tree.path(workload.group)], context.settings)
    if own is not None and limit is not None and own > limit.time:
        message = f"is {write_duration(own)}; group {limit.group} lets it run for {write_duration(limit.time)}"
        yield workload.violation("RunTimeLonger", _field(MAX_RUN_TIME), message)


def _declared(workload: SubmittedWorkload) -> timedelta | None:
    try:
        return read_max_run_time(workload.annotations)
    except BadOwnerSetting:
        return None


def _field(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"
