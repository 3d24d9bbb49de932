"""Where percents become amounts: each is a share of its parent's effectiveMin, at the first level of root's capacity.

It is done once, before anything is measured or judged: what reads the resolved tree knows amounts alone. What system,
unmanaged pods and orphaned workloads use changes no amount: effectiveMin counts here as if root had its whole capacity.

    root 5; a: min 50 %; b: min 50 %. Both shares are 2.5, and 5 is dealt: a has min 3, b min 2.

See docs/specification.md §3.11.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.percents import Percent, share_out
from shared.quota.model.amounts.largest_remainder import deal_round
from shared.quota.model.tree import ROOT, SYSTEM, Entry, Group, Tree
from shared.resources import Amount, FlavorResource

Base = Callable[[FlavorResource], Amount | None]
"""key -> the amount that percents of it are shares of; None: not known."""
_Place = tuple[str, int, str]
"""A group, one of its entries, a resource."""


def resolve(tree: Tree, base: Base, previous: Tree | None = None) -> Tree:
    """Return the tree with the amount of every percent whose base is known; `base`: that of the first level.

    Groups that come out as in `previous` are the same objects, and so is the tree if all of them do.
    """
    if not tree.has_percents:
        return tree
    found = dict(tree.groups)
    for parent, of_parent in _parents(tree, base, found):
        found.update(_resolved_children(tree, parent, of_parent, found))
    if previous is not None:
        found = {name: _kept(group, previous.get(name)) for name, group in found.items()}
        if len(found) == len(previous.groups) and all(each is previous.get(name) for name, each in found.items()):
            return previous
    return tree.with_same_parents({name: group for name, group in found.items() if group is not tree[name]})


def base_below(tree: Tree, base: Base, parent: str) -> Base:
    """Return what percents of the children of `parent` are shares of; `base`: that of the first level."""
    found = dict(tree.groups)
    for name, of_parent in _parents(tree, base, found):
        if name == parent:
            return of_parent
        found.update(_resolved_children(tree, name, of_parent, found))
    return _unknown


def _kept(group: Group, previous: Group | None) -> Group:
    return previous if previous is not None and (previous is group or previous == group) else group


def _parents(tree: Tree, base: Base, found: Mapping[str, Group]) -> Iterator[tuple[str, Base]]:
    """Yield every parent above percents with the base of its children, after its own amounts are in `found`."""
    above = _above_percents(tree)
    absent = sorted(each for each in above if each not in tree)
    waiting: list[tuple[str, Base]] = [(ROOT, base), *((each, _unknown) for each in absent)]
    while waiting:
        parent, of_parent = waiting.pop()
        if parent not in above:
            continue
        yield parent, of_parent
        mins = _effective_mins([found[name] for name in _children(tree, parent)], of_parent)
        waiting.extend((name, _base_of(each)) for name, each in mins.items())


def _unknown(_key: FlavorResource) -> None:
    return None


def _base_of(mins: Mapping[FlavorResource, Amount | None]) -> Base:
    return lambda key: mins.get(key, 0)


def _above_percents(tree: Tree) -> set[str]:
    """Return every name above a group that has a percent, also those that do not exist."""
    parents = {group.parent for group in tree.groups.values() if any(entry.percents for entry in group.quotas)}
    found = {parent for parent in parents if parent is not None}
    for parent in tuple(found):
        found.update(tree[name].parent or ROOT for name in tree.path(parent))
    return found


def _children(tree: Tree, parent: str) -> list[str]:
    return [name for name in tree.children(parent) if name not in (ROOT, SYSTEM, parent)]


def _resolved_children(tree: Tree, parent: str, base: Base, found: Mapping[str, Group]) -> Iterator[tuple[str, Group]]:
    """Yield the children that have percents, with the amounts of those whose base is known."""
    children = [found[name] for name in _children(tree, parent)]
    amounts = _shares(children, base)
    for group in children:
        if any(entry.percents for entry in group.quotas):
            quotas = tuple(_resolved(group.name, at, entry, amounts) for at, entry in enumerate(group.quotas))
            yield group.name, replace(group, quotas=quotas)


def _shares(children: Sequence[Group], base: Base) -> dict[str, dict[_Place, Amount]]:
    """Return limit -> place -> amount, dealt among the siblings, who are sorted by name."""
    wanted: dict[tuple[str, FlavorResource], list[tuple[_Place, Percent]]] = {}
    for group in children:
        for at, entry in enumerate(group.quotas):
            for limit, percents in entry.percents.items():
                for resource, percent in percents.items():
                    key = FlavorResource(entry.flavor, resource)
                    wanted.setdefault((limit, key), []).append(((group.name, at, resource), percent))
    found: dict[str, dict[_Place, Amount]] = {}
    for (limit, key), shares in wanted.items():
        whole = base(key)
        if whole is not None:
            dealt = share_out(whole, [percent for _, percent in shares])
            places = [place for place, _ in shares]
            found.setdefault(limit, {}).update(zip(places, dealt, strict=True))
    return found


def _resolved(group: str, at: int, entry: Entry, shares: Mapping[str, Mapping[_Place, Amount]]) -> Entry:
    """Return the entry with the amounts of its percents in place of those it had."""
    if not entry.percents:
        return entry
    limits: dict[str, Any] = {}
    for limit, percents in entry.percents.items():
        written, of_limit = getattr(entry, limit), shares.get(limit, {})
        amounts = {resource: amount for resource, amount in written.items() if resource not in percents}
        for resource in percents:
            amount = of_limit.get((group, at, resource))
            if amount is not None:
                amounts[resource] = amount
        limits[limit] = amounts
    _round_alike(entry, limits)
    return replace(entry, **limits)


def _round_alike(entry: Entry, limits: Mapping[str, dict[str, Amount]]) -> None:
    """Rounding one limit at a time must not turn a smaller percent into a larger amount."""
    high, lent = limits.get("max", {}), limits.get("lending_limit", {})
    for resource, amount in limits.get("min", {}).items():
        if resource in high and _is_within(entry, "min", "max", resource):
            high[resource] = max(high[resource], amount)
        if resource in lent and _is_within(entry, "lending_limit", "min", resource):
            lent[resource] = min(lent[resource], amount)


def _is_within(entry: Entry, small: str, large: str, resource: str) -> bool:
    """Return whether both limits are percents, the first no larger than the second."""
    low, high = entry.percent(small, resource), entry.percent(large, resource)
    return low is not None and high is not None and low <= high


def _effective_mins(children: Sequence[Group], base: Base) -> dict[str, dict[FlavorResource, Amount | None]]:
    """Return child -> key -> its effectiveMin; as written where its base is not known, None where its min is not."""
    found: dict[str, dict[FlavorResource, Amount | None]] = {group.name: {} for group in children}
    by_key: dict[FlavorResource, list[str]] = {}
    for group in children:
        for entry in group.quotas:
            for resource in entry.covered:
                key = FlavorResource(entry.flavor, resource)
                found[group.name][key] = min_in(entry, resource)
                by_key.setdefault(key, []).append(group.name)
    for key, names in by_key.items():
        whole = base(key)
        known = [amount for name in names if (amount := found[name][key]) is not None]
        if whole is not None and len(known) == len(names) and sum(known) > whole:
            for name, amount in zip(names, deal_round(whole, known), strict=True):
                found[name][key] = amount
    return found


def min_in(entry: Entry, resource: str) -> Amount | None:
    """Return the min that counts: at most max where percents are in play; None where its amount is not known."""
    if is_unknown(entry, "min", resource):
        return None
    low = entry.min.get(resource, 0)
    return min(low, entry.max.get(resource, low)) if entry.percents else low


def is_unknown(entry: Entry, limit: str, resource: str) -> bool:
    """Return whether the limit is a percent whose amount is not known."""
    return resource in entry.percents.get(limit, ()) and resource not in getattr(entry, limit)


def base_of_root(
    root: Group, capacity: Mapping[FlavorResource, Amount] | None, is_promised: Callable[[FlavorResource], bool]
) -> Base:
    """Return what percents of the first level are shares of: root's capacity, None: not known.

    `is_promised`: whether root's capacity of a key is what the first level is promised. A share of that would be one of
    itself, so root's own max stands for it.
    """

    def base(key: FlavorResource) -> Amount | None:
        if is_promised(key):
            entry = root.entry(key.flavor)
            return None if entry is None else entry.max.get(key.resource)
        return None if capacity is None else capacity.get(key, 0)

    return base
