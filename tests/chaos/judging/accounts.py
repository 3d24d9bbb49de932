"""Accounts beside a count of what the API server stored: one leaf's Jobs, each started once and run to its end.

The count reads admissions and ends in the history, nothing of what Quotree has counted. Only of such Jobs both are
known exactly: what is evicted ends for its account when a leader sees that its last pod is gone.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from shared.api.annotations import read_annotations
from shared.api.core.job import Job
from shared.api.core.pod_request import effective_request
from shared.api.names import GROUP_LABEL
from shared.api.quotagroup import read_quota_group
from shared.quota.measure.accounts.written_accounts import read_accounts
from shared.quota.model.read.groups import read_family
from shared.resources import FlavorResource
from tests.chaos.judging.at_rest import Rest
from tests.chaos.judging.checker import Flaw
from tests.chaos.judging.history.history import Version

RESOURCE = "cpu"


class CountedRun(NamedTuple):
    """One Job from its admission to its end, in milliseconds since 1970."""

    key: str
    begin: int
    end: int
    amount: int

    @property
    def used(self) -> int:
        """What it used, times milliseconds."""
        return self.amount * max(0, self.end - self.begin)


def counted_runs(history: Iterable[Version], leaf: str) -> list[CountedRun]:
    """Return the finished Jobs of a leaf, as the last version of each says. Raises ValueError if one ran twice."""
    admissions: dict[str, set[datetime]] = {}
    finished: dict[str, Job] = {}
    for version in history:
        job = version.record
        if isinstance(job, Job) and job.metadata.labels.get(GROUP_LABEL) == leaf:
            admission = read_annotations(job.metadata.annotations).admission
            if admission is not None:
                admissions.setdefault(version.uid, set()).add(admission.time)
            if job.finished_at is not None:
                finished[version.uid] = job
    return [_run(job, admissions[uid]) for uid, job in finished.items()]


def _run(job: Job, admissions: set[datetime]) -> CountedRun:
    if len(admissions) != 1 or job.finished_at is None:
        raise ValueError(f"Job {job.metadata.key} was started at {sorted(admissions)}")
    (begin,) = admissions
    amount = effective_request(job.spec.template.spec)[RESOURCE]
    return CountedRun(job.metadata.key, _milliseconds(begin), _milliseconds(job.finished_at), amount)


def judge_accounts(rest: Rest, runs: Sequence[CountedRun], leaf: str) -> Iterator[Flaw]:
    """Yield where the accounts differ from the count, and where a sum over all leaves is not root's."""
    statuses = {each["metadata"]["name"]: each.get("status", {}) for each in rest.lists["groups"]}
    counted, account = sum(each.used for each in runs), used_in(statuses.get(leaf, {}))
    if account != counted:
        text = (
            f"the account says {account}, {len(runs)} Jobs used {counted}: {account - counted:+} of {RESOURCE} times ms"
        )
        yield Flaw("WrongAccount", f"QuotaGroup/{leaf}", 0, text)
    root, leaves = sums_as_reported(rest)
    if root != leaves:
        yield Flaw("WrongAccount", "QuotaGroup/root", 0, f"root's account says {root}, those of all leaves {leaves}")


def sums_as_reported(rest: Rest) -> tuple[int, int]:
    """Return what root used and what all leaves did, as `quotree report` reads it from the statuses."""
    groups = [read_quota_group(each) for each in rest.lists["groups"]]
    accounts = read_accounts(read_family(groups), {each.metadata.name: each.status for each in groups})
    used = {
        name: sum(each.used for month in account.periods.values() for key, each in month.keys.items() if _counts(key))
        for name, account in accounts.items()
    }
    return used.get("root", 0), sum(used[each.metadata.name] for each in groups if not each.spec.is_parent)


def _counts(key: FlavorResource) -> bool:
    return key.resource == RESOURCE


def used_in(status: dict[str, Any]) -> int:
    """Return what the accounts of all months in a status say."""
    months = status.get("accounts", ())
    return sum(int(flavor.get("used", {}).get(RESOURCE, 0)) for month in months for flavor in month["flavors"])


def _milliseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
