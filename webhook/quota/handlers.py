"""Answers reviews of QuotaGroups and ResourceFlavors: ordered edits through `edits`, all others directly."""

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from prometheus_client import Counter

from shared.api.review import Review
from shared.kube.client import Client
from shared.kube.errors import NotFound
from shared.kube.resources import QUOTA_GROUPS
from shared.kube.watch.watches import Watches
from shared.quota.model.read.groups import read_group
from shared.quota.model.rules import Context, Findings, GroupWorkloads
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Group
from shared.telemetry import get_logger
from webhook.permissions import Permissions
from webhook.quota.dry_run import DryRunEffects
from webhook.quota.edit_rights import EditRights
from webhook.quota.edit_round import UNCONFIRMED
from webhook.quota.edit_serializer import EditSerializer
from webhook.quota.edits import read_flavor_edit, read_group_edit
from webhook.quota.flavors import judge_flavor_alone
from webhook.quota.left_out import LeftOut
from webhook.quota.quotagroups import UNDER_WAY, judge_alone
from webhook.quota.stored.quota_cache import QuotaCache
from webhook.settings import EditsFile
from webhook.verdicts import Deny, Verdict, verdict_of

log = get_logger(__name__)


class QuotaHandlers:
    """The two judges. `work`: the unfinished workloads of a group. `namespaces`: the names of all namespaces.

    `faults`: counts those of Quotree's own, by kind and place. `dry_run`: None without the visibility API.
    """

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        watches: Watches,
        view: QuotaCache,
        work: Callable[[str], GroupWorkloads],
        namespaces: Callable[[], Collection[str]],
        *,
        namespace: str,
        settings: QuotaSettings,
        faults: Counter,
        edits: EditsFile = EditsFile(),  # noqa: B008 - frozen
        timeout: timedelta = timedelta(seconds=3),
        dry_run: DryRunEffects | None = None,
    ) -> None:
        self._dry_run = dry_run
        self._faults = faults
        self._view = view
        self._client = client.within(timeout)
        self._rights = EditRights(
            Permissions(self._client, time.monotonic),
            lambda: view.tree,
            self._stored_group,
            requires_divide=settings.require_divide,
        )
        self._work = work
        self._namespaces = namespaces
        self._settings = settings
        self._edits = EditSerializer(
            client.within(timeout), watches, view, self._context, namespace=namespace, settings=edits
        )

    def _context(self) -> Context:
        view = self._view
        settings = self._settings
        counts_nodes = settings.capacity_source is CapacitySource.NODES
        return Context(
            view.flavors,
            self._work_of,
            settings.max_depth,
            view.capacity,
            settings.maxima,
            counts_nodes,
            view.measured,
            self._namespaces(),
            settings.is_promised,
            datetime.now(UTC),
        )

    def _work_of(self, group: str) -> GroupWorkloads:
        work = self._work(group)
        return GroupWorkloads(work.pending, work.running, self._view.non_preemptible(group))

    async def _stored_group(self, name: str) -> Group | None:
        try:
            return read_group(await self._client.get(QUOTA_GROUPS, name))
        except NotFound:
            return None

    async def judge_quotagroup(self, review: Review) -> Verdict:
        """Return the verdict on an edit of a QuotaGroup."""
        edit = read_group_edit(review, uuid4().hex)
        forbidden = await self._rights.check(review, edit)
        if forbidden.violations:
            return self._verdict(forbidden)
        if edit.is_ordered:
            verdict = self._verdict(await self._edits.judge(edit))
        else:
            verdict = self._verdict(judge_alone(edit, self._view.tree, self._context()))
        return await self._with_effects(review, verdict)

    async def judge_flavor(self, review: Review) -> Verdict:
        """Return the verdict on an edit of a ResourceFlavor."""
        edit = read_flavor_edit(review, uuid4().hex)
        if edit.is_ordered:
            verdict = self._verdict(await self._edits.judge(edit))
        else:
            verdict = self._verdict(judge_flavor_alone(edit, self._view.tree, self._context()))
        return await self._with_effects(review, verdict)

    async def _with_effects(self, review: Review, verdict: Verdict) -> Verdict:
        """Add to the verdict on a legal dry run what the edit would start and stop."""
        if self._dry_run is None or not review.dry_run or isinstance(verdict, Deny):
            return verdict
        return replace(verdict, warnings=(*verdict.warnings, *await self._dry_run.of(review)))

    def _verdict(self, findings: Findings) -> Verdict:
        """Like `verdict_of`, but 409 where retrying can help: kubectl then retries by itself."""
        for each in findings.warnings:
            if isinstance(each, LeftOut):
                self._faults.labels(each.object.partition("/")[0], each.place).inc()
                log.critical("Left out: our own bug", object=each.object, place=each.place, trace=each.trace)
        verdict = verdict_of(findings)
        if isinstance(verdict, Deny) and all(found.rule in (UNDER_WAY, UNCONFIRMED) for found in findings.violations):
            return Deny(verdict.violations, 409, "Conflict", verdict.warnings)
        return verdict
