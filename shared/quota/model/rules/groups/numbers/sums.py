"""The sum of children's mins: never above the parent's min. One pass over the children of a parent.

See docs/specification.md §4.3 and §4.5.
"""

from collections.abc import Iterable, Iterator, Mapping

from shared.quota.model.amounts.resolution import is_unknown
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import children_to_sum, of_group, placed
from shared.quota.model.rules.groups.numbers.percents import written
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import ROOT, Group, Tree
from shared.resources import Amount, FlavorResource, write_quantity

_SHOWN = 6


def sum_of_min(groups: Iterable[Group]) -> dict[FlavorResource, Amount]:
    """Return the sum of the groups' mins, for every key that one of them names."""
    total: dict[tuple[str, str], Amount] = {}
    for group in groups:
        for entry in group.quotas:
            flavor = entry.flavor
            for resource, amount in entry.min.items():
                key = (flavor, resource)
                total[key] = total.get(key, 0) + amount
    return {FlavorResource(*key): amount for key, amount in total.items()}


def check_sum_of_min(tree: Tree, parent: str, _context: Context) -> Iterator[Violation]:
    """Σ children's min ≤ the parent's min, a resource absent from it counting 0. Root is exempt: its nodes change."""
    above = tree.get(parent)
    if above is None or parent == ROOT:
        return
    children = children_to_sum(tree, parent)
    for key, promised in sorted(sum_of_min(children).items()):
        entry = above.entry(key.flavor)
        if entry is not None and is_unknown(entry, "min", key.resource):
            continue
        has = 0 if entry is None else entry.min.get(key.resource, 0)
        if promised > has:
            field = next((field for field, each in placed(above.quotas) if each.flavor == key.flavor), None)
            yield Violation(
                "SumOfMinExceedsParent",
                of_group(parent),
                "spec.quotas" if field is None else f"{field}.min",
                _too_much(key, promised, has, children),
                subject=(parent, *key),
                excess=promised - has,
            )


def _too_much(key: FlavorResource, promised: Amount, has: Amount, children: Iterable[Group]) -> str:
    def quantity(amount: Amount) -> str:
        return write_quantity(key.resource, amount)

    parts = sorted(children, key=lambda child: (-_min_of(child, key), child.name))
    named = [f"{child.name} {_written_min(child, key)}" for child in parts if _min_of(child, key) > 0]
    if len(named) > _SHOWN:
        rest = sum(_min_of(child, key) for child in parts[_SHOWN:])
        named = [*named[:_SHOWN], f"{len(named) - _SHOWN} more {quantity(rest)}"]
    return (
        f"children promise {quantity(promised)} of {key} ({' + '.join(named)}), parent has {quantity(has)}; "
        f"raise min to {quantity(promised)} or free {quantity(promised - has)} from a child"
    )


def _min_of(group: Group, key: FlavorResource) -> Amount:
    entry = group.entry(key.flavor)
    return 0 if entry is None else entry.min.get(key.resource, 0)


def _written_min(group: Group, key: FlavorResource) -> str:
    entry = group.entry(key.flavor)
    return "0" if entry is None else written(entry, "min", key.resource)


def warn_first_level_above_capacity(tree: Tree, parent: str, context: Context) -> Iterator[Violation]:
    """The first level's mins exceed the cluster's capacity: accepted, and scaled down while demand exceeds it."""
    if parent != ROOT or context.capacity is None:
        return
    capacity = _capped(context.capacity, tree)
    for key, promised in sorted(sum_of_min(children_to_sum(tree, ROOT)).items()):
        if context.measured is not None and key.flavor not in context.measured:
            continue
        has = capacity.get(key, 0)
        if promised > has and context.has_flavor(key.flavor):
            message = (
                f"the first level is promised {write_quantity(key.resource, promised)} of {key}, capacity is "
                f"{write_quantity(key.resource, has)}; mins are scaled down while demand exceeds it"
            )
            yield Violation("FirstLevelAboveCapacity", of_group(ROOT), "spec.quotas", message)


def _capped(capacity: Mapping[FlavorResource, Amount], tree: Tree) -> dict[FlavorResource, Amount]:
    capped = dict(capacity)
    for entry in tree[ROOT].quotas:
        for resource, most in entry.max.items():
            key = FlavorResource(entry.flavor, resource)
            capped[key] = min(most, capped.get(key, most))
    return capped


def warn_weight_on_some(tree: Tree, parent: str, _context: Context) -> Iterator[Violation]:
    """Of siblings with a quota for the same resource only some set a weight: the others' share follows their max."""
    with_weight: dict[tuple[str, str], list[str]] = {}
    for child in children_to_sum(tree, parent):
        for entry in child.quotas:
            for resource in entry.named("weight") if entry.percents else entry.weight:
                with_weight.setdefault((entry.flavor, resource), []).append(child.name)
    for key in sorted(with_weight):
        others = _without_weight(tree, parent, FlavorResource(*key), with_weight[key])
        if others:
            message = (
                f"of the children {_some(with_weight[key])} set a weight for {FlavorResource(*key)}, {_some(others)} "
                "do not: their share follows their max; set it on all or on none"
            )
            yield Violation("WeightOnSome", of_group(parent), "spec.quotas", message)


def _without_weight(tree: Tree, parent: str, key: FlavorResource, weighted: list[str]) -> list[str]:
    having = set(weighted)
    return [
        child
        for child in tree.children(parent)
        if child not in having and (entry := tree[child].entry(key.flavor)) and key.resource in entry.covered
    ]


def _some(names: list[str]) -> str:
    return listed(names, most=_SHOWN)
