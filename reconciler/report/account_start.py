"""How a new leader goes on with the accounts: from what the groups' statuses have, and what happened since.

It decides meanwhile; nothing is added up before this is read. See docs/specification.md §9.7.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from shared.api.core.job import Job
from shared.api.quotagroup import QuotaGroup
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.ended_jobs import ended_uses
from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import JOBS, QUOTA_GROUPS
from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.accounts.amounts import GroupAccount
from shared.quota.measure.accounts.budgets.written import known_with_account
from shared.quota.measure.accounts.leaf_use import EndedUse
from shared.quota.measure.accounts.written_accounts import read_accounts
from shared.quota.model.membership import path_of
from shared.quota.model.read.groups import read_family
from shared.telemetry import get_logger

_RETRY: Final = timedelta(seconds=2)

log = get_logger(__name__)


async def start_accounts(client: Client, state: ClusterState, book: AccountBook, wake: Callable[[], None]) -> None:
    """Read what the accounts go on from, then `wake` the cycle: budgets are known; retried until it succeeds."""
    while True:
        try:
            # A new list: the watch might not have what the previous leader wrote last.
            groups = await client.list_all(QUOTA_GROUPS, into=QuotaGroup)
            statuses = {each.metadata.name: each.status for each in groups}
            accounts = read_accounts(read_family(groups), statuses)
            budgets = {name: known_with_account(each, accounts[name]) for name, each in statuses.items()}
            ended = await _ended_since(client, state, accounts)
        except ApiError as error:
            log.warning("Accounts not read", error=str(error))
            await asyncio.sleep(_RETRY.total_seconds())
        else:
            book.start(accounts, ended, budgets)
            wake()
            log.info("Accounts go on", groups=len(accounts), ended=len(ended))
            return


async def _ended_since(client: Client, state: ClusterState, accounts: dict[str, GroupAccount]) -> list[EndedUse]:
    found: list[EndedUse] = []
    async for page in client.list_pages(JOBS, into=Job):
        found += [each for job in page.items for each in _uses(job, state) if _is_new(each, state, accounts)]
        await asyncio.sleep(0)
    return found


def _uses(job: Job, state: ClusterState) -> Iterable[EndedUse]:
    return ended_uses(job, state.work.read_alone)


def _is_new(use: EndedUse, state: ClusterState, accounts: dict[str, GroupAccount]) -> bool:
    """Return whether some group above the use has not counted all of it."""
    latest = max(use.end, use.evicted or 0)
    path = path_of(lambda name: state.tree.groups[name].group if name in state.tree.groups else None, use.leaf)
    known = [accounts.get(group.name, GroupAccount()).until for group in path]
    return any(until is None or until < latest for until in known)
