"""When a group may change isParent or be deleted, and which edits of the three built-in groups are refused.

See docs/specification.md §4.4 and §2.3.
"""

from collections.abc import Iterator
from typing import Final

from shared.quota.model.amounts.resolution import min_in
from shared.quota.model.rules.context import Context, TreeEdit
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import BUILT_IN, LIMITS, ROOT, SYSTEM, Group
from shared.resources import FlavorResource, write_quantity

SETTINGS: Final = (
    "allow_lending",
    "namespace_selector",
    "require_requests",
    "queueing",
    "patience",
    "order",
    "order_weights",
    "when_can_borrow",
    "when_can_reclaim",
    "preemption",
    "reclaim",
    "startup",
    "max_run_time",
    "budgets",
    "stop_policy",
    "overrides",
    "windows",
)
"""The fields of a group that are not its identity, and that no rule of their own keeps as they are in `system`."""


def check_no_children_on_turning(change: TreeEdit, _context: Context) -> Iterator[Violation]:
    """A group with children does not become a leaf. (A leaf with children was stored without us: it may be fixed.)"""
    old, new = change.old, change.new
    if old and new and old.is_parent and not new.is_parent:
        children = change.after.children(change.name)
        if children:
            message = f"still holds {_named(children)}; move or delete them first"
            yield Violation("TurnedWithChildren", of_group(change.name), "spec.isParent", message)


def check_no_work_on_turning(change: TreeEdit, context: Context) -> Iterator[Violation]:
    """isParent changes only while the group has no workloads, pending or running."""
    old, new = change.old, change.new
    if old and new and old.is_parent != new.is_parent:
        workloads = context.workloads(change.name)
        if workloads:
            message = f"still holds workloads ({workloads}); finish or move them first"
            yield Violation("TurnedWithWork", of_group(change.name), "spec.isParent", message)


def check_no_children_on_delete(change: TreeEdit, _context: Context) -> Iterator[Violation]:
    """A group with children is not deleted."""
    if change.new is None:
        children = change.before.children(change.name)
        if children:
            message = f"cannot be deleted while it holds {_named(children)}; move or delete them first"
            yield Violation("DeletedWithChildren", of_group(change.name), "", message)


def check_no_work_on_delete(change: TreeEdit, context: Context) -> Iterator[Violation]:
    """A group with workloads, pending or running, is not deleted."""
    if change.new is None:
        workloads = context.workloads(change.name)
        if workloads:
            message = f"cannot be deleted while it holds workloads ({workloads}); finish or move them first"
            yield Violation("DeletedWithWork", of_group(change.name), "", message)


def check_built_in_kept(change: TreeEdit, _context: Context) -> Iterator[Violation]:
    """root, system and default are not deleted."""
    if change.new is None and change.name in BUILT_IN:
        message = "is one of the three groups every cluster has; it cannot be deleted"
        yield Violation("BuiltInDeleted", of_group(change.name), "", message)


def check_built_in_locked(group: Group) -> Iterator[Violation]:
    """root, system and default keep parent and isParent; of root's quotas only max may be set, of system none."""
    if group.name not in BUILT_IN:
        return

    def locked(field: str, message: str) -> Violation:
        return Violation("BuiltInLocked", of_group(group.name), field, message)

    if group.name != ROOT:
        if group.parent != ROOT or group.is_parent:
            field = "spec.isParent" if group.is_parent else "spec.parent"
            yield locked(field, f"{group.name} is a leaf below root; keep it so")
        if group.name == SYSTEM and group.quotas:
            yield locked("spec.quotas", "system is never limited; take quotas out")
        return
    if group.parent is not None:
        yield locked("spec.parent", "root is the cluster itself and has no parent; take parent out")
    if not group.is_parent:
        yield locked("spec.isParent", "root holds groups; keep isParent: true")
    if any(entry.named(limit) for entry in group.quotas for limit in LIMITS if limit != "max"):
        yield locked("spec.quotas", "of root only max may be set; its capacity is what the nodes have")


def check_system_untouched(change: TreeEdit, _context: Context) -> Iterator[Violation]:
    """Of system nothing may be edited."""
    old, new = change.old, change.new
    if change.name == SYSTEM and old and new and any(getattr(old, field) != getattr(new, field) for field in SETTINGS):
        message = "system is never limited and never recycled; none of its fields may be edited"
        yield Violation("SystemLocked", of_group(SYSTEM), "spec", message)


def warn_min_below_non_preemptible(change: TreeEdit, context: Context) -> Iterator[Violation]:
    """min is lowered below what non-preemptible workloads use: they continue, and no more of them start."""
    old, new = change.old, change.new
    if new is None or old is None or old.quotas == new.quotas:
        return
    non_preemptible = context.workloads(change.name).non_preemptible
    for key, used in sorted(non_preemptible.items()):
        low, had = _min_of(new, key), _min_of(old, key)
        if low is not None and used > low and (had is None or low < had):
            message = (
                f"min of {key} is lowered to {write_quantity(key.resource, low)}, workloads that "
                f"are not preemptible use {write_quantity(key.resource, used)}: they continue, and no more "
                "of them start until they use less than min"
            )
            yield Violation("MinBelowNonPreemptible", of_group(change.name), "spec.quotas", message)


def _min_of(group: Group, key: FlavorResource) -> int | None:
    """Return the min; None where it is a percent of something unknown."""
    entry = group.entry(key.flavor)
    return 0 if entry is None else min_in(entry, key.resource)


def _named(children: tuple[str, ...]) -> str:
    count = "1 group" if len(children) == 1 else f"{len(children)} groups"
    return f"{count} ({listed(children)})"
