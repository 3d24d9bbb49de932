"""What owners declare of a workload by annotations: it can be read, and is within what its group lets it.

See docs/specification.md §2.6 and §4.7.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from shared.api.durations import write_duration
from shared.api.names import EXPECTED_RUN_TIME, MAX_RUN_TIME, STARTUP
from shared.api.owner_settings import BadOwnerSetting, read_expected_run_time, read_max_run_time, read_startup
from shared.quota.model.lifecycle import run_time_in_force
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload, WorkloadContext


def check_owner_settings(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """What its owner declares by annotations can be read."""
    for read in (read_max_run_time, read_expected_run_time, read_startup):
        try:
            read(workload.annotations)
        except BadOwnerSetting as error:
            yield workload.violation("BadAnnotation", _field(error.annotation), error.problem)


def check_own_startup(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """What its owner declares of its start-up is within `quota.maxima`: longer times could make others wait."""
    try:
        own = read_startup(workload.annotations)
    except BadOwnerSetting:
        return
    most = context.settings.maxima.startup
    for name, time, bound in (
        ("timeout", own.timeout, most.timeout),
        ("recoveryTimeout", own.recovery_timeout, most.recovery_timeout),
    ):
        if time is not None and bound is not None and time > bound:
            allowed = f"at most {write_duration(bound)} is allowed (quota.maxima.startup.{name}); lower it"
            message = f"has {name} {write_duration(time)}, {allowed}"
            yield workload.violation("StartupAboveMaximum", _field(STARTUP), message)


def warn_run_time_longer(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The workload declares or expects a longer run time than its group lets it have: the group's counts."""
    limit = run_time_in_force([context.tree[name] for name in context.tree.path(workload.group)], context.settings)
    for annotation, read in ((MAX_RUN_TIME, read_max_run_time), (EXPECTED_RUN_TIME, read_expected_run_time)):
        own = _declared(workload, read)
        if own is not None and limit is not None and own > limit.time:
            message = f"is {write_duration(own)}; group {limit.group} lets it run for {write_duration(limit.time)}"
            yield workload.violation("RunTimeLonger", _field(annotation), message)


def _declared(workload: SubmittedWorkload, read: Callable[[Mapping[str, str]], timedelta | None]) -> timedelta | None:
    try:
        return read(workload.annotations)
    except BadOwnerSetting:
        return None


def _field(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"
