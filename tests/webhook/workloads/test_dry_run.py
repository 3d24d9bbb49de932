"""Only the dry run of a new workload asks whether it would start, and a refused one does not."""

from typing import Any, cast

import msgspec
import pytest

from shared.api.review import Review
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.resources import Resource
from tests.webhook.workloads.review_builders import context, job, review
from webhook.quota.dry_run import DryRunEffects
from webhook.quota.handlers import QuotaHandlers
from webhook.routes import WebhookRoutes
from webhook.verdicts import Allow
from webhook.workloads.context_builder import ContextBuilder
from webhook.workloads.review_context import ReviewContext

LINE = "Job 'team-a/train' would start now"
HELD = job(suspend=True)
FOREIGN = job("absent", suspend=True)


class AnsweringClient:
    """A client that answers with one line, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, str | None]] = []

    def within(self, _: object) -> "AnsweringClient":
        return self

    def reserved(self, _: int) -> "AnsweringClient":
        return self

    async def create(self, resource: Resource, body: Any, namespace: str | None = None, *, into: type[Any]) -> Any:
        self.asked.append((resource.plural, body["spec"]["apply"], namespace))
        return msgspec.convert({"status": {"lines": [LINE]}}, into)


class OneContext:
    """Builds the same context for every review."""

    async def of(self, _: Review) -> ReviewContext:
        return context()


class NoJudges:
    """Stands for the judges of quota objects, which are not asked here."""

    judge_quotagroup = judge_flavor = None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (review(HELD, dryRun=True), (LINE,)),
        (review(HELD), ()),
        (review(HELD, HELD, dryRun=True), ()),
        (review(FOREIGN, dryRun=True), None),
    ],
    ids=["dry run", "creation", "dry run of an edit", "refused"],
)
async def test_start_is_previewed(asked: Review, expected: tuple[str, ...] | None) -> None:
    client = AnsweringClient()
    effects = DryRunEffects(cast("Client", client))
    routes = WebhookRoutes(cast("ContextBuilder", OneContext()), cast("QuotaHandlers", NoJudges()), Kinds(), effects)
    verdict = await routes.all()["/validate/jobs"].judge(asked)
    assert (verdict.warnings if isinstance(verdict, Allow) else None) == expected
    assert client.asked == ([("startpreviews", [asked.object], "team-a")] if expected else [])
