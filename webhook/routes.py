"""What the webhook is asked at which path."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from shared.api import names
from shared.api.review import Review, ReviewOperation
from shared.kinds.kind import Kinds
from shared.kube.resources import Resource, resource_of_kind
from webhook.http.handler import Judge, Route
from webhook.quota.dry_run import DryRunEffects
from webhook.quota.edits import FLAVOR, GROUP
from webhook.quota.handlers import QuotaHandlers
from webhook.verdicts import YES, Deny, Verdict
from webhook.workloads.context_builder import ContextBuilder
from webhook.workloads.governed.children import judge_child, mutate_child
from webhook.workloads.governed.gated_kinds import judge_gated_object
from webhook.workloads.governed.scales import judge_scale
from webhook.workloads.owner_cache import made_resources
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.reviews import judge, mutate
from webhook.workloads.sorts.job import JOB
from webhook.workloads.sorts.kind_object import KindReviews
from webhook.workloads.sorts.pod import POD

WorkloadJudge = Callable[[Review, ReviewContext], Verdict]


class WebhookRoutes:
    """The routes of Jobs, pods, quota objects, and of the objects of governed kinds."""

    def __init__(
        self,
        contexts: ContextBuilder,
        quota_objects: QuotaHandlers,
        kinds: Kinds,
        dry_run: DryRunEffects | None = None,
    ) -> None:
        """`dry_run`: None without the visibility API."""
        self._contexts = contexts
        self._dry_run = dry_run
        self._quota_objects = quota_objects
        self._kinds = kinds

    def all(self) -> dict[str, Route]:
        """Return path → what is judged there."""
        return {
            "/mutate/jobs": Route("batch", "Job", self._with_context(partial(mutate, JOB))),
            "/validate/jobs": Route("batch", "Job", self._with_preview(partial(judge, JOB))),
            "/mutate/pods": Route("", "Pod", self._with_context(partial(mutate, POD))),
            "/validate/pods": Route("", "Pod", self._with_preview(partial(judge, POD))),
            "/validate/scales": Route("autoscaling", "Scale", self._judge_scale),
            "/validate/quotagroups": Route(names.GROUP, GROUP, self._quota_objects.judge_quotagroup),
            "/validate/resourceflavors": Route(names.GROUP, FLAVOR, self._quota_objects.judge_flavor),
            **dict(self._kind_routes()),
        }

    def _kind_routes(self) -> Iterator[tuple[str, Route]]:
        """Yield the routes of governed kinds, and of what their operators create: /mutate/jobsets.jobset.x-k8s.io."""
        for kind in self._kinds.all:
            resource = resource_of_kind(kind)
            if kind.suspend:
                sort = KindReviews(kind)
                yield self._route("mutate", resource, self._with_context(partial(mutate, sort)))
                yield self._route("validate", resource, self._with_preview(partial(judge, sort)))
            elif kind.gate is not None:
                yield self._route("validate", resource, self._with_context(partial(judge_gated_object, kind)))
        for resource in made_resources(self._kinds):
            yield self._route("mutate", resource, self._with_context(mutate_child))
            yield self._route("validate", resource, self._with_context(judge_child))

    def _route(self, phase: str, resource: Resource, judge: Judge) -> tuple[str, Route]:
        return f"/{phase}/{resource.plural}.{resource.group}", Route(resource.group, resource.kind, judge)

    async def _judge_scale(self, review: Review) -> Verdict:
        return judge_scale(review, await self._contexts.managed_kind(review))

    def _with_context(self, judge: WorkloadJudge) -> Judge:
        async def judged(review: Review) -> Verdict:
            if review.operation not in (ReviewOperation.CREATE, ReviewOperation.UPDATE):
                return YES
            return judge(review, await self._contexts.of(review))

        return judged

    def _with_preview(self, judge: WorkloadJudge) -> Judge:
        """Add to the verdict on the dry run of a legal new workload whether it would start."""
        with_context, dry_run = self._with_context(judge), self._dry_run

        async def judged(review: Review) -> Verdict:
            verdict = await with_context(review)
            is_asked = review.dry_run and review.operation is ReviewOperation.CREATE
            if dry_run is None or not is_asked or isinstance(verdict, Deny):
                return verdict
            return replace(verdict, warnings=(*verdict.warnings, *await dry_run.start_of(review)))

        return judged if dry_run is not None else with_context
