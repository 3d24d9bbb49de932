"""What percents must obey: each has a number that it is a share of, and those of one parent's min are at most 100 %.

What they come to is judged by the rules about amounts, with the capacity of the moment; when nodes come and go it
changes, and no group becomes inactive by it.

See docs/specification.md §3.11, §4.3 and §4.5.
"""

from collections.abc import Iterable, Iterator

from shared.api.names import WORKLOAD_COUNT
from shared.percents import WHOLE, Percent, write_percent
from shared.quota.model.amounts.resolution import Base, base_of_root, is_unknown, resolve
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import children_to_sum, of_group, placed
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import LIMITS, ROOT, WRITTEN, Entry, Group, Tree
from shared.resources import FlavorResource, write_quantity

_SHOWN = 6


def with_amounts(tree: Tree, context: Context) -> Tree:
    """Return the tree with what its percents come to, as far as that is known."""
    return resolve(tree, _base(tree, context)) if tree.has_percents else tree


def _base(tree: Tree, context: Context) -> Base:
    of_root = base_of_root(tree[ROOT], context.capacity, context.promised)

    def base(key: FlavorResource) -> int | None:
        is_measured = context.measured is None or key.flavor in context.measured
        return of_root(key) if is_measured or context.promised(key) else None

    return base


def written(entry: Entry, limit: str, resource: str) -> str:
    """Return the limit as it is written, a percent with its amount if that is known; 0 where it is absent."""
    percent = entry.percent(limit, resource)
    if percent is None:
        return write_quantity(resource, getattr(entry, limit).get(resource, 0))
    if is_unknown(entry, limit, resource):
        return write_percent(percent)
    return f"{write_percent(percent)} ({write_quantity(resource, getattr(entry, limit)[resource])})"


def is_above(entry: Entry, small: str, large: str, resource: str) -> bool:
    """Return whether the limit that must be smaller is larger: two percents as such, others once both are known."""
    low, high = entry.percent(small, resource), entry.percent(large, resource)
    if low is not None and (high is not None or resource not in entry.named(large)):
        return low > (high or 0)
    if is_unknown(entry, small, resource) or is_unknown(entry, large, resource):
        return False
    return bool(getattr(entry, small)[resource] > getattr(entry, large).get(resource, 0))


def check_sum_of_percents(tree: Tree, parent: str, _context: Context) -> Iterator[Violation]:
    """The mins of one parent's children that are percents are at most 100 % together, whatever the capacity."""
    if not tree.has_percents:
        return
    children = children_to_sum(tree, parent)
    for key, shares in sorted(_percents_of_min(children).items()):
        together = sum(percent for _, percent in shares)
        if together > WHOLE:
            named = listed([f"{name} {write_percent(percent)}" for name, percent in shares], most=_SHOWN)
            message = (
                f"children promise {write_percent(together)} of its {key} ({named}); "
                f"free {write_percent(together - WHOLE)} from a child"
            )
            subject = (parent, *key)
            yield Violation("PercentsExceedParent", of_group(parent), "spec.quotas", message, subject, together - WHOLE)


def _percents_of_min(groups: Iterable[Group]) -> dict[FlavorResource, list[tuple[str, Percent]]]:
    found: dict[FlavorResource, list[tuple[str, Percent]]] = {}
    for group in groups:
        for entry in group.quotas:
            for resource, percent in entry.percents.get("min", {}).items():
                found.setdefault(FlavorResource(entry.flavor, resource), []).append((group.name, percent))
    return found


def check_percent_of_something(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """A percent is of a number: the parent's min, or root's capacity, of the same resource."""
    if not tree.has_percents:
        return
    for field, key in _places(tree[name]):
        why = _why_of_nothing(tree, name, key, context)
        if why:
            message = f"a percent of {key} is a share of nothing: {why}, or write an amount"
            yield Violation("PercentOfNothing", of_group(name), field, message, (name, field, *key))


def _why_of_nothing(tree: Tree, name: str, key: FlavorResource, context: Context) -> str:
    """Return what is missing, and what to do; empty if nothing is."""
    above = tree.get(tree[name].parent or "")
    if name == ROOT:
        return f"{_unknown_whole(key)}; write root's max as an amount" if context.promised(key) else ""
    if above is None:
        return ""
    entry = above.entry(key.flavor)
    if above.name == ROOT:
        is_bounded = entry is not None and key.resource in entry.max
        return f"{_unknown_whole(key)}; give root a max of it" if context.promised(key) and not is_bounded else ""
    has_min = entry is not None and (key.resource in entry.min or entry.percent("min", key.resource) is not None)
    is_covered = entry is not None and key.resource in entry.covered
    return f"parent {above.name} has no min of it; give it one" if is_covered and not has_min else ""


def _unknown_whole(key: FlavorResource) -> str:
    """Return why no node says how much root has of the key."""
    if key.resource == WORKLOAD_COUNT:
        return "no node bounds how many workloads run"
    return "root's capacity of it is what the first level is promised"


def warn_percent_of_no_node(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """A percent of what no node offers counts 0 until one does."""
    if tree[name].parent != ROOT or context.capacity is None or not tree.has_percents:
        return
    for field, key in _places(tree[name]):
        is_measured = context.measured is None or key.flavor in context.measured
        is_of_nodes = context.has_flavor(key.flavor) and not context.promised(key)
        if is_measured and is_of_nodes and not context.capacity.get(key, 0):
            message = f"the cluster has no {key}, so the percent counts 0 until a node offers some"
            yield Violation("PercentOfNoNode", of_group(name), field, message)


def _places(group: Group) -> Iterator[tuple[str, FlavorResource]]:
    for field, entry in placed(group.quotas):
        for limit in LIMITS:
            for resource in entry.percents.get(limit, ()):
                yield f"{field}.{WRITTEN[limit]}", FlavorResource(entry.flavor, resource)
