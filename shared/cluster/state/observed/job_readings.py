"""What a Job was read as, kept while its controller reports nothing that decides how it is read. Pure.

The Job controller writes the status of a started Job several times, mostly with what no decision depends on.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from shared.api.core.job import Job
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import Reading

_Facts = tuple[object, ...]


class _Known(NamedTuple):
    """`around` is kept so that no other object gets its identity."""

    job: Job
    around: NamespaceContext
    facts: _Facts
    reading: Reading


@dataclass(slots=True)
class KnownReadings:
    """The latest reading of each Job that runs, or whose controller has reported nothing yet."""

    _known: dict[str, _Known] = field(default_factory=dict)

    def find(self, key: str, job: Job, around: NamespaceContext) -> Reading | None:
        """Return what the Job was read as, if it would be read alike now."""
        known = self._known.get(key)
        if known is None or known.around is not around or known.job.spec is not job.spec:
            return None
        return known.reading if known.job.metadata == job.metadata and known.facts == _facts(job) else None

    def keep(self, key: str, job: Job, around: NamespaceContext, reading: Reading) -> None:
        """Remember the reading, where it is likely to be asked for again and time does not change it."""
        is_reported_soon = not job.spec.suspend or not job.status.conditions
        if is_reported_soon and not reading.problems and not job.spec.template.spec.resource_claims:
            self._known[key] = _Known(job, around, _facts(job), reading)
        else:
            self.forget(key)

    def forget(self, key: str) -> None:
        """Drop what is known of a Job that is gone."""
        self._known.pop(key, None)


def _facts(job: Job) -> _Facts:
    """Return all that a reading takes from the status of a Job."""
    counts = (job.has_finished, job.pods_left, job.ready_pods)
    if not (job.spec.suspend or job.metadata.is_deleting):
        return counts
    suspended = [each.last_transition_time for each in job.status.conditions if each.type == "Suspended"]
    return (*counts, suspended) if job.has_pods else (*counts, None)
