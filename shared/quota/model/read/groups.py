"""Read a QuotaGroup or ResourceFlavor into a Group or Flavor of the model, without the fields that cannot be read.

These are kept in `unread`, so that the rules report it together with everything else that is wrong.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from shared.api.core.metadata import Metadata
from shared.api.core.placement import Requirement, Taint, Toleration
from shared.api.core.selectors import LabelSelector
from shared.api.crds.flavor import flavor_schema
from shared.api.crds.parts import MAX_NAME, Schema
from shared.api.crds.quotagroup import quotagroup_schema
from shared.api.crds.shape import LEFT_OUT, Misshapen, fit
from shared.api.durations import SHORTEST_RUN_TIME, write_duration
from shared.api.flavor import ResourceFlavor, read_resource_flavor
from shared.api.json.reading import ResourceList, Unreadable
from shared.api.json.unread import BAD_FIELD, BAD_QUANTITY, Unread
from shared.api.quotagroup import (
    QuotaGroup,
    QuotaGroupSpec,
    ReclaimSpec,
    SelectorSpec,
    StartupSpec,
    read_quota_group,
)
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.budgets import read_budgets
from shared.quota.model.read.fields import duration_of, entries_of, word_of
from shared.quota.model.read.timed import overrides_of, windows_of
from shared.quota.model.settings import BlockAdmission, ReclaimMode
from shared.quota.model.tree import (
    NOTHING,
    ROOT,
    WRITTEN_POLICIES,
    Amounts,
    Group,
    Preemption,
    QueueingStrategy,
    QueueOrder,
    ReclaimOverrides,
    StartupOverrides,
    Tree,
    WhenCanBorrow,
    WhenCanReclaim,
)
from shared.resources import QuantityError, read_amount

_GROUP_SPEC: Schema = quotagroup_schema()["properties"]["spec"]
_FLAVOR_SPEC: Schema = flavor_schema()["properties"]["spec"]
_OBJECT = ("apiVersion", "kind", "metadata", "spec", "status")
Word = TypeVar("Word", bound=StrEnum)


def read_group(raw: bytes | msgspec.Raw | Mapping[str, Any]) -> Group:
    """Return the group of an object of the API server. Raises Unreadable only if it is not an object with a name."""
    try:
        return group_of(read_quota_group(raw))
    except Unreadable:
        return read_group_manifest(_mapping(raw))


def read_group_manifest(manifest: Mapping[str, Any]) -> Group:
    """Return the group of a manifest; unknown fields and wrong types are `unread`.

    Raises Unreadable as read_group does.
    """
    shaped, unread = _shaped(manifest, _GROUP_SPEC)
    return group_of(read_quota_group(shaped), unread)


def read_family(groups: Iterable[QuotaGroup]) -> Tree:
    """Return whose children the groups are, and no more of what they say."""
    found = ((each.metadata, each.spec.parent) for each in groups)
    return Tree.of(Group(own.name, _parent(own.name, parent), uid=own.uid) for own, parent in found)


def read_flavor(raw: bytes | msgspec.Raw | Mapping[str, Any]) -> Flavor:
    """Return the flavor of an object of the API server. Raises Unreadable only if it is not an object with a name."""
    try:
        return flavor_of(read_resource_flavor(raw))
    except Unreadable:
        return read_flavor_manifest(_mapping(raw))


def read_flavor_manifest(manifest: Mapping[str, Any]) -> Flavor:
    """Return the flavor that a manifest describes; unknown fields and wrong types are `unread`."""
    shaped, unread = _shaped(manifest, _FLAVOR_SPEC)
    return flavor_of(read_resource_flavor(shaped), unread)


def group_of(view: QuotaGroup, unread: tuple[Unread, ...] = ()) -> Group:
    """Return the group that a typed view describes. Raises Unreadable if it has no name."""
    found = list(unread)
    spec, name = view.spec, _name(view.metadata)
    return Group(
        name=name,
        parent=_parent(name, spec.parent),
        is_parent=spec.is_parent,
        quotas=entries_of(spec.quotas, "spec.quotas", found),
        allow_lending=spec.allow_lending,
        require_requests=spec.require_requests,
        namespace_selector=_selector(spec.namespace_selector),
        reclaim=_reclaim(spec.reclaim, found),
        startup=_startup(spec.startup, found),
        max_run_time=_run_time(spec.max_run_time, found),
        patience=duration_of(spec.queueing.patience, "spec.queueing.patience", found),
        order_weights=_order_weights(spec.queueing.weights, found),
        budgets=read_budgets(spec.budgets, "spec.budgets", found),
        overrides=tuple(overrides_of(spec, found)),
        windows=tuple(windows_of(spec, found)),
        uid=view.metadata.uid,
        created=view.metadata.created if view.metadata.creation_timestamp else None,
        deleting=view.metadata.waits_to_go,
        **_words(spec, found),
        unread=tuple(found),
    )


def flavor_of(view: ResourceFlavor, unread: tuple[Unread, ...] = ()) -> Flavor:
    """Return the flavor that a typed view describes. Raises Unreadable if it has no name."""
    return Flavor(
        name=_name(view.metadata),
        node_labels=dict(view.spec.node_labels),
        node_taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in view.spec.node_taints),
        tolerations=tuple(
            Toleration(each.key, each.operator or "Equal", each.value, each.effect, each.toleration_seconds)
            for each in view.spec.tolerations
        ),
        uid=view.metadata.uid,
        deleting=view.metadata.waits_to_go,
        unread=unread,
    )


def _mapping(raw: bytes | msgspec.Raw | Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        value = raw if isinstance(raw, Mapping) else msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    if not isinstance(value, Mapping):
        raise Unreadable("expected an object")
    return value


def _shaped(manifest: Mapping[str, Any], schema: Schema) -> tuple[Mapping[str, Any], tuple[Unread, ...]]:
    found: list[Misshapen] = []
    spec = manifest.get("spec")
    fitted = fit({} if spec is None else spec, schema, "spec", found)
    shaped = {"metadata": _metadata(manifest.get("metadata"), found), "spec": fitted if fitted is not LEFT_OUT else {}}
    unknown = (str(field) for field in manifest if field not in _OBJECT)
    found.extend(
        Misshapen(field, "is not a field; an object has apiVersion, kind, metadata and spec") for field in unknown
    )
    return shaped, tuple(Unread(BAD_FIELD, field, message) for field, message in found)


def _metadata(metadata: Any, found: list[Misshapen]) -> Any:
    """Return `metadata`, or only its name when another field of it cannot be read."""
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        return metadata
    try:
        read_quota_group({"metadata": metadata})
    except Unreadable as error:
        found.append(Misshapen("metadata", str(error)))
        return {"name": metadata["name"]}
    return metadata


def _name(metadata: Metadata) -> str:
    if not metadata.name:
        raise Unreadable("metadata.name is missing")
    return metadata.name


def _parent(name: str, parent: str | None) -> str | None:
    if name == ROOT:
        return parent
    return ROOT if parent is None else parent


def _order_weights(weights: ResourceList, found: list[Unread]) -> Amounts:
    """Return the weights in thousandths, rounded up."""
    amounts: dict[str, int] = {}
    for name, weight in weights.items():
        try:
            if isinstance(weight, float):
                raise QuantityError(f"{weight!r} is a number with a point; write it as text, in quotes")
            amounts[name] = read_amount("cpu", weight)
        except QuantityError as error:
            field = f"spec.queueing.weights[{name[:MAX_NAME]}]"
            found.append(Unread(BAD_QUANTITY, field, f"weight of {name[:MAX_NAME]!r}: {error}"))
    return amounts or NOTHING


def _selector(spec: SelectorSpec | None) -> LabelSelector | None:
    if spec is None:
        return None
    expressions = (Requirement(each.key, each.operator, tuple(each.values)) for each in spec.match_expressions)
    return LabelSelector(dict(spec.match_labels), tuple(expressions))


def _words(spec: QuotaGroupSpec, found: list[Unread]) -> dict[str, Any]:
    fungibility = spec.flavor_fungibility
    borrow, reclaim = fungibility.when_can_borrow, fungibility.when_can_reclaim
    words = {
        "order": word_of(spec.queueing.order, QueueOrder, "spec.queueing.order", found),
        "queueing": word_of(spec.queueing.strategy, QueueingStrategy, "spec.queueing.strategy", found),
        "when_can_borrow": word_of(borrow, WhenCanBorrow, "spec.flavorFungibility.whenCanBorrow", found),
        "when_can_reclaim": word_of(reclaim, WhenCanReclaim, "spec.flavorFungibility.whenCanReclaim", found),
        "preemption": word_of(spec.preemption.within_group, Preemption, "spec.preemption.withinGroup", found),
        "stop_policy": word_of(spec.stop_policy, WRITTEN_POLICIES, "spec.stopPolicy", found),
    }
    return {name: word for name, word in words.items() if word is not None}


def _reclaim(spec: ReclaimSpec, found: list[Unread]) -> ReclaimOverrides:
    return ReclaimOverrides(
        mode=word_of(spec.mode, ReclaimMode, "spec.reclaim.mode", found),
        grace_period=duration_of(spec.grace_period, "spec.reclaim.gracePeriod", found),
        notice=duration_of(spec.notice, "spec.reclaim.notice", found),
        exempt_after_start=duration_of(spec.exempt_after_start, "spec.reclaim.exemptAfterStart", found),
        claim_timeout=duration_of(spec.claim_timeout, "spec.reclaim.claimTimeout", found),
    )


def _startup(spec: StartupSpec, found: list[Unread]) -> StartupOverrides:
    return StartupOverrides(
        wait_for_pods_ready=spec.wait_for_pods_ready,
        block_admission=word_of(spec.block_admission, BlockAdmission, "spec.startup.blockAdmission", found),
        timeout=duration_of(spec.timeout, "spec.startup.timeout", found),
        recovery_timeout=duration_of(spec.recovery_timeout, "spec.startup.recoveryTimeout", found),
        gang=spec.gang,
        backoff_base=duration_of(spec.backoff_base, "spec.startup.backoffBase", found),
        backoff_max=duration_of(spec.backoff_max, "spec.startup.backoffMax", found),
        limit=spec.limit,
    )


def _run_time(text: str | None, found: list[Unread]) -> timedelta | None:
    field = "spec.maxRunTime"
    limit = duration_of(text, field, found)
    if limit is None or limit >= SHORTEST_RUN_TIME:
        return limit
    found.append(Unread(BAD_FIELD, field, f"is {text!r}; write at least {write_duration(SHORTEST_RUN_TIME)}"))
    return None
