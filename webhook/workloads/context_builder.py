"""Builds the context of one review from the watches, and from the API server where a watch might lag.

Some verdicts cannot be corrected later: a workload in a namespace labelled a moment ago would start without being held,
a group applied together with its Jobs would not be found, a managed Job's pod would be gated. Only in these cases the
API server is read.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from shared.api.core.metadata import Metadata, OwnerReference
from shared.api.core.pod import read_pod
from shared.api.json.reading import Unreadable, View, reader
from shared.api.names import JOB_OWNER_LABEL
from shared.api.review import Review, ReviewOperation
from shared.kinds.reading import read_kind_object
from shared.kube.client import Client
from shared.kube.errors import NotFound
from shared.kube.resources import PODS, QUOTA_GROUPS, resource_of_kind
from shared.quota.model.counts.entries import with_counts
from shared.quota.model.in_force import group_in_force
from shared.quota.model.membership import resolve_group
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.groups import read_group
from shared.quota.model.rules import Context
from shared.quota.model.rules.groups.names import is_name, shortened
from shared.quota.model.rules.groups.numbers.percents import with_amounts
from shared.quota.model.rules.workloads.submitted_workload import WorkloadContext
from shared.quota.model.tree import Tree
from webhook.permissions import Permissions, service_account
from webhook.quota.stored.quota_cache import QuotaCache
from webhook.settings import LabelDialect, WebhookSettings
from webhook.workloads.dialects import QueueLabels
from webhook.workloads.governed.made_by_pods import find_set, is_sent_by
from webhook.workloads.governed.scales import read_scale
from webhook.workloads.owner_cache import WorkloadRecord
from webhook.workloads.review_context import Cover, ReviewContext
from webhook.workloads.workload_cache import WatchedWorkloads

_PATIENCE: Final = timedelta(seconds=3)


class _HeadPodSpec(View, frozen=True):
    service_account_name: str = ""


class _HeadTemplate(View, frozen=True):
    spec: _HeadPodSpec = _HeadPodSpec()


class _HeadSpec(View, frozen=True):
    service_account_name: str = ""
    template: _HeadTemplate = _HeadTemplate()


class _Head(View, frozen=True):
    """What a Job and a pod have in common: metadata, and the service account of the pods."""

    metadata: Metadata = Metadata()
    spec: _HeadSpec = _HeadSpec()

    @property
    def service_account(self) -> str:
        """The service account's name."""
        return self.spec.service_account_name or self.spec.template.spec.service_account_name or "default"


_read_head = reader(_Head)


class ContextBuilder:
    """Builds contexts."""

    def __init__(self, client: Client, tree: QuotaCache, work: WatchedWorkloads, settings: WebhookSettings) -> None:
        self._client = client.within(_PATIENCE)
        self._tree = tree
        self._workloads = work
        self._settings = settings
        self._quota = settings.quota.settings()
        # Compiled once: a review must not pay for the expressions of all descriptors.
        self._kinds = settings.governed
        self._permissions = Permissions(self._client, time.monotonic)
        self._resolved: tuple[Tree, object, Tree] | None = None
        """A tree, the capacity it was resolved with, and the result."""

    async def of(self, review: Review) -> ReviewContext:
        """Return the context of the review. Raises ApiError if the API server must be read and does not answer."""
        head = _read_head(review.object) if review.has_object else _Head()
        queues = self._queues(review)
        metadata = head.metadata if queues is None else _in_dialect(head.metadata, queues)
        namespace, group = await self._namespace_and_group(review, metadata)
        controllers = self._settings.job_controllers
        is_made_for_job = review.user_info.username in controllers
        job = await self._job_of(review.namespace, metadata) if is_made_for_job else None
        job_group = None if job is None or job.unit else self._workloads.group_of(job)
        cover, not_covered = await self._cover(review, metadata, job), ""
        maker = metadata.controller
        if cover is None and maker is not None and self._is_made_by_pod(review, maker):
            cover, not_covered = await self._cover_by_pod(review, metadata, maker, namespace)
        is_accounted = job_group is not None or cover is not None
        quota = WorkloadContext(
            self._with_amounts(await self._tree_with(group)),
            self._tree.flavors,
            self._tree.capacity,
            self._quota,
            self._settings.never_fits,
            nodes=self._tree.largest_nodes,
            user=review.user_info.username,
            lacks_use="" if is_accounted else await self._lacks_use(review, head, namespace, group),
        )
        reconciler, owner = self._settings.reconciler, _owner(metadata)
        return ReviewContext(
            quota,
            namespace,
            reconciler,
            lambda uid: job_group if uid == owner else None,
            controllers,
            cover,
            self._is_by_operator(review),
            self._kinds,
            not_covered,
            datetime.now(UTC),
            queues,
            self._workloads.has_pod_groups,
        )

    def _queues(self, review: Review) -> QueueLabels | None:
        """Return what Kueue's label means; None: nothing."""
        dialects = self._settings.dialects
        if LabelDialect.KUEUE not in dialects.systems:
            return None
        return QueueLabels(dialects.queue_groups, review.namespace, review.operation is ReviewOperation.CREATE)

    def _with_amounts(self, tree: Tree) -> Tree:
        """Return the tree with its counts, and with what its percents come to."""
        known, capacity = self._resolved, self._tree.capacity
        if known is None or known[0] is not tree or known[1] is not capacity:
            context = Context(capacity=capacity, measured=self._tree.measured, promised=self._quota.is_promised)
            known = self._resolved = tree, capacity, with_amounts(with_counts(tree), context)
        return known[2]

    async def managed_kind(self, review: Review) -> str | None:
        """Return the kind of the object whose scale subresource is reviewed; None if nothing accounts for it.

        Raises ApiError.
        """
        asked = (review.resource.group, review.resource.resource)
        kind = next((each for each in self._kinds.suspended if (each.group, each.resource) == asked), None)
        if kind is None:
            return None
        uid = read_scale(review.old_object).metadata.uid
        scaled = OwnerReference(kind.kind, review.name, uid, kind.api_version)
        found = await self._workloads.owners.find(review.namespace, scaled)
        is_managed = found is not None and (found.unit or self._workloads.group_of(found))
        return kind.kind if is_managed else None

    async def _namespace_and_group(self, review: Review, metadata: Metadata) -> tuple[NamespaceContext, str | None]:
        """Namespace and group; read again for a new object without a group, in case its namespace was just labelled."""
        namespace = await self._workloads.namespace_context(review.namespace)
        group = self._group(metadata, namespace)
        if group is None and review.operation is ReviewOperation.CREATE:
            namespace = await self._workloads.namespace_context_now(review.namespace)
            group = self._group(metadata, namespace)
        return namespace, group

    async def _lacks_use(self, review: Review, head: _Head, namespace: NamespaceContext, group: str | None) -> str:
        """Return a message about who lacks the verb `use` on the group; empty where it is not required.

        Raises ApiError.
        """
        if not self._quota.require_use or group is None or review.user_info.username == self._settings.reconciler:
            return ""
        if review.has_old_object and self._group(_read_head(review.old_object).metadata, namespace) == group:
            return ""
        account = service_account(review.namespace, head.service_account)
        for user in (review.user_info, account):
            if await self._permissions.may(user, "use", group):
                return ""
        return f"neither user {shortened(review.user_info.username)} nor {account.username}"

    def _group(self, metadata: Metadata, namespace: NamespaceContext) -> str | None:
        return resolve_group(metadata.labels, namespace.namespace_labels, default_group=self._quota.default_group)

    async def _tree_with(self, name: str | None) -> Tree:
        now = datetime.now(UTC)
        tree = self._tree.tree_at(now)
        if name is None or name in tree or not is_name(name):
            return tree
        try:
            return tree.with_group(group_in_force(read_group(await self._client.get(QUOTA_GROUPS, name)), now))
        except (NotFound, Unreadable):
            return tree

    async def _cover(self, review: Review, metadata: Metadata, job: WorkloadRecord | None) -> Cover | None:
        """The governed object for which this one is created, by its operator or, for its Job, by the Job controller."""
        owner, found = metadata.controller, job
        if review.operation is not ReviewOperation.CREATE or owner is None:
            return None
        if self._workloads.owners.is_operator(owner, review.user_info.username):
            found = await self._workloads.owners.find(review.namespace, owner)
        if found is None:
            return None
        group = self._workloads.group_of(found)
        if group is None and found.owner is not None:
            # Created in a namespace without labels, so no webhook reviewed it: its owner is managed.
            found = await self._workloads.owners.find(review.namespace, found.owner)
            group = None if found is None else self._workloads.group_of(found)
        if found is not None and found.unit:
            return Cover(found.unit, group)
        return None if found is None or found is job or group is None else Cover(found.uid, group)

    def _is_made_by_pod(self, review: Review, maker: OwnerReference) -> bool:
        is_new = review.operation is ReviewOperation.CREATE
        return is_new and is_sent_by(maker, review.user_info) and any(kind.has_makers for kind in self._kinds.suspended)

    async def _cover_by_pod(
        self, review: Review, made: Metadata, maker: OwnerReference, namespace: NamespaceContext
    ) -> tuple[Cover | None, str]:
        """The governed object for which this pod is made by one of its pods; else why it is made for none.

        Raises ApiError. The pod that makes it was created a moment ago, as was the object's start: both are read.
        """
        if not (is_name(maker.name) and is_name(review.namespace)):
            return None, ""
        try:
            pod = read_pod(await self._client.get(PODS, maker.name, review.namespace))
            owner = pod.metadata.controller
            kind = None if owner is None else self._kinds.find(owner.api_version, owner.kind)
            if pod.metadata.uid != maker.uid or owner is None or kind is None or not is_name(owner.name):
                return None, ""
            raw = await self._client.get(resource_of_kind(kind), owner.name, review.namespace)
        except NotFound:
            return None, ""
        made_for = read_kind_object(kind, raw)
        found = find_set(pod, made_for, made, self._workloads.made_for)
        if isinstance(found, str):
            return None, found
        return Cover(made_for.metadata.uid, self._group(made_for.metadata, namespace), found.spec), ""

    def _is_by_operator(self, review: Review) -> bool:
        """Return whether the operator changes an object it has created."""
        if not review.has_old_object or not self._workloads.owners:
            return False
        owner = _read_head(review.old_object).metadata.controller
        return owner is not None and self._workloads.owners.is_operator(owner, review.user_info.username)

    async def _job_of(self, namespace: str, metadata: Metadata) -> WorkloadRecord | None:
        """Return the Job for which the Job controller creates this pod."""
        uid = _owner(metadata)
        if uid is None or metadata.labels.get(JOB_OWNER_LABEL) != uid:
            return None
        owner = metadata.controller
        name = owner.name if owner is not None else ""
        return await self._workloads.job(namespace, name, uid)


def _in_dialect(metadata: Metadata, queues: QueueLabels) -> Metadata:
    labels = queues.with_group(metadata.labels)
    return metadata if labels is metadata.labels else msgspec.structs.replace(metadata, labels=dict(labels))


def _owner(metadata: Metadata) -> str | None:
    """Return the uid of the Job in its controller reference."""
    owner = metadata.controller
    if owner is None or owner.kind != "Job" or not owner.api_version.startswith("batch/"):
        return None
    return owner.uid
