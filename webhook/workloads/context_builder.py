"""The scene of one review: from the watches, and from the API server itself where a watch may lag behind it.

What the watches do not know yet would be judged wrongly for good: work in a namespace that has just been brought in
would start unheld, a group applied together with its Jobs would be unheard of, a managed Job's pod would be gated. So
exactly there the API server is asked.
"""

from datetime import timedelta
from typing import Final

from shared.api.core.metadata import Metadata
from shared.api.names import JOB_OWNER_LABEL
from shared.api.reading import Unreadable, View, reader
from shared.api.review import Operation, Review
from shared.kube.client import Client
from shared.kube.errors import NotFound
from shared.kube.resources import QUOTA_GROUPS
from shared.quota.model.group_reading import read_group
from shared.quota.model.job_reading import NamespaceContext
from shared.quota.model.membership import resolve_group
from shared.quota.model.rules.groups.names import is_name
from shared.quota.model.rules.workloads.submitted_workload import WorkloadContext
from shared.quota.model.tree import Tree
from webhook.quota.quota_cache import QuotaCache
from webhook.settings import WebhookSettings
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_cache import WatchedWorkloads

_PATIENCE: Final = timedelta(seconds=3)


class _Head(View, frozen=True):
    metadata: Metadata = Metadata()


_read_head = reader(_Head)


class ContextBuilder:
    """Makes scenes."""

    def __init__(self, client: Client, tree: QuotaCache, work: WatchedWorkloads, settings: WebhookSettings) -> None:
        self._client = client.within(_PATIENCE)
        self._tree = tree
        self._work = work
        self._settings = settings
        self._quota = settings.quota.settings()

    async def of(self, review: Review) -> ReviewContext:
        """Raises ApiError when the API server must be asked and does not answer."""
        metadata = _read_head(review.object).metadata if review.has_object else Metadata()
        around, group = await self._surroundings(review, metadata)
        controllers = self._settings.job_controllers
        managed = review.user_info.username in controllers and await self._is_managed_job(review.namespace, metadata)
        context = WorkloadContext(
            await self._tree_with(group),
            self._tree.flavors,
            self._tree.capacity,
            self._quota,
            self._settings.never_fits,
        )
        reconciler, owner = self._settings.reconciler, _owner(metadata)
        return ReviewContext(context, around, reconciler, lambda uid: managed and uid == owner, controllers)

    async def _surroundings(self, review: Review, metadata: Metadata) -> tuple[NamespaceContext, str | None]:
        """Of a new object that no watch explains, the API server knows why it asks: its namespace was just labelled."""
        around = await self._work.surroundings(review.namespace)
        group = self._group(metadata, around)
        if group is None and review.operation is Operation.CREATE:
            around = await self._work.surroundings_now(review.namespace)
            group = self._group(metadata, around)
        return around, group

    def _group(self, metadata: Metadata, around: NamespaceContext) -> str | None:
        return resolve_group(metadata.labels, around.namespace_labels, default_group=self._quota.default_group)

    async def _tree_with(self, name: str | None) -> Tree:
        tree = self._tree.tree
        if name is None or name in tree or not is_name(name):
            return tree
        try:
            return tree.with_group(read_group(await self._client.get(QUOTA_GROUPS, name)))
        except (NotFound, Unreadable):
            return tree

    async def _is_managed_job(self, namespace: str, metadata: Metadata) -> bool:
        uid = _owner(metadata)
        if uid is None or metadata.labels.get(JOB_OWNER_LABEL) != uid:
            return False
        owner = metadata.controller
        name = owner.name if owner is not None else ""
        return self._work.is_managed_job(uid) or await self._work.is_managed_job_now(namespace, name, uid)


def _owner(metadata: Metadata) -> str | None:
    """The uid of the Job that it says controls it."""
    owner = metadata.controller
    if owner is None or owner.kind != "Job" or not owner.api_version.startswith("batch/"):
        return None
    return owner.uid
