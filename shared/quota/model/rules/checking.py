"""What is wrong with an edit, or with a whole tree: each rule runs for the groups it concerns.

An edit is refused for what it breaks or makes worse, never for what was broken before: so a tree that is already
illegal can be fixed step by step, and a broken subtree never blocks another.

See docs/specification.md §4.1.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields

from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import flavors
from shared.quota.model.rules.context import Context, TreeEdit
from shared.quota.model.rules.findings import Findings, Violation
from shared.quota.model.rules.groups.names import has_too_many_entries
from shared.quota.model.rules.groups.numbers.percents import with_amounts
from shared.quota.model.rules.registry import (
    CHANGE_RULES,
    FLAVOR_RULES,
    OWN_RULES,
    QUOTAS,
    TIME_RULES,
    TREE_RULES,
    OwnRule,
    Reads,
    TreeRule,
)
from shared.quota.model.tree import Group, Tree

_FIELDS = tuple(field.name for field in fields(Group))


def check_change(before: Tree, after: Tree, name: str, context: Context) -> Findings:
    """Everything that the edit of group `name` breaks, and everything it should be warned of.

    `name` is created when only `after` has it, deleted when only `before` has it. A rule is run only if the edit
    changes a field it reads. Percents are judged by what they come to, as far as that is known.
    """
    change = TreeEdit(with_amounts(before, context), with_amounts(after, context), name)
    changed = changed_fields(change.old, change.new)
    found = _change_findings(change, changed, context)
    if change.new is None or not changed:
        return found
    found += Findings(tuple(_own_violations(change, changed)))
    for rule in TREE_RULES:
        if rule.reads & changed:
            found += _tree_findings(rule, change, context)
    return found


def changed_fields(old: Group | None, new: Group | None) -> Reads:
    """Return the fields in which two states of a group differ; all of them at creation and deletion."""
    if old is None or new is None:
        return frozenset(_FIELDS)
    return frozenset(name for name in _FIELDS if getattr(old, name) != getattr(new, name))


def _change_findings(change: TreeEdit, changed: Reads, context: Context) -> Findings:
    rules = [rule for rule in CHANGE_RULES if rule.reads & changed]
    return Findings(
        tuple(found for rule in rules if not rule.only_warns for found in rule.check(change, context)),
        tuple(found for rule in rules if rule.only_warns for found in rule.check(change, context)),
    )


def _own_violations(change: TreeEdit, changed: Reads) -> Iterator[Violation]:
    assert change.new is not None  # noqa: S101
    for rule in (*OWN_RULES, *TIME_RULES):
        if not rule.reads & changed:
            continue
        found = _own_findings(rule, change.new)
        known = {_place(each): each for each in _own_findings(rule, change.old)} if found and change.old else {}
        yield from (each for each in found if _is_new(each, known.get(_place(each))))


def _own_findings(rule: OwnRule, group: Group) -> tuple[Violation, ...]:
    return () if _walks_too_many(rule, group) else tuple(rule.check(group))


def _walks_too_many(rule: OwnRule | TreeRule, group: Group | None) -> bool:
    """Return whether the rule looks at entries of a group that has more than may be, which is said once."""
    if group is None or not has_too_many_entries(group):
        return False
    return bool(rule.reads & QUOTAS) and "TooManyEntries" not in rule.codes


def _tree_findings(rule: TreeRule, change: TreeEdit, context: Context) -> Findings:
    concerned = tuple(name for name in rule.concerns(change) if not _walks_too_many(rule, change.after.get(name)))
    found = tuple(each for name in concerned for each in rule.check(change.after, name, context))
    if rule.only_warns or not found:
        return Findings(warnings=found)
    before = (name for name in concerned if name in change.before)
    known = {_place(each): each for name in before for each in rule.check(change.before, name, context)}
    new_violations = tuple(each for each in found if _is_new(each, known.get(_place(each))))
    old = (each for each in found if each not in new_violations and each.message != known[_place(each)].message)
    return Findings(new_violations, tuple(old))


def _place(violation: Violation) -> tuple[str, ...]:
    """Return what identifies the same violation before and after an edit."""
    return (violation.rule, violation.object, *(violation.subject or (violation.field,)))


def _is_new(violation: Violation, before: Violation | None) -> bool:
    return before is None or violation.is_worse_than(before)


def check_tree(tree: Tree, context: Context) -> Findings:
    """Everything that is wrong with a whole tree and its flavors, independent of the order of its objects."""
    return check_written(with_amounts(tree, context), context)


def check_written(tree: Tree, context: Context) -> Findings:
    """The same without what percents come to: no node that comes or goes changes the answer."""
    own_rules = (*OWN_RULES, *TIME_RULES)
    own = (found for name in sorted(tree.groups) for rule in own_rules for found in _own_findings(rule, tree[name]))
    among = (found for rule in TREE_RULES if not rule.only_warns for found in _everywhere(rule, tree, context))
    warned = (found for rule in TREE_RULES if rule.only_warns for found in _everywhere(rule, tree, context))
    beside = flavors.warn_unlabelled_beside_labelled(context.flavors)
    ambiguous = flavors.warn_flavors_of_the_same_nodes(context.flavors, tree, context)
    return Findings((*own, *among, *_flavor_violations(context)), (*warned, *beside, *ambiguous))


def check_quotas_below(tree: Tree, parent: str, context: Context) -> Iterator[Violation]:
    """Yield what is wrong with the quotas of a parent and its children, by themselves and among each other."""
    for name in (parent, *tree.children(parent)):
        if name in tree:
            rules = (rule for rule in OWN_RULES if rule.reads & QUOTAS)
            yield from (found for rule in rules for found in _own_findings(rule, tree[name]))
    for rule in TREE_RULES:
        if rule.reads & QUOTAS and not rule.only_warns and parent in tree and not _walks_too_many(rule, tree[parent]):
            yield from rule.check(tree, parent, context)


def _everywhere(rule: TreeRule, tree: Tree, context: Context) -> Iterator[Violation]:
    for name in rule.everywhere(tree, context):
        if not _walks_too_many(rule, tree.get(name)):
            yield from rule.check(tree, name, context)


def _flavor_violations(context: Context) -> Iterator[Violation]:
    for name in sorted(context.flavors):
        yield from check_flavor(context.flavors[name])


def check_flavor(flavor: Flavor) -> Iterable[Violation]:
    """Everything that is wrong with one flavor by itself."""
    return [found for rule in FLAVOR_RULES for found in rule.check(flavor)]


def check_flavor_change(before: Flavor | None, after: Flavor | None, context: Context, tree: Tree) -> Findings:
    """Everything that the edit of a flavor breaks; `before` None: created, `after` None: deleted.

    `context.flavors` are those before the edit.
    """
    if after is None:
        return Findings(tuple(flavors.check_flavor_unused(before.name, tree)) if before else ())
    broken = {_place(each): each for each in check_flavor(before)} if before else {}
    new_violations = tuple(each for each in check_flavor(after) if _is_new(each, broken.get(_place(each))))
    if before is not None and _labels_and_taints(before) == _labels_and_taints(after):
        return Findings(new_violations)
    known = {**context.flavors, after.name: after}
    alike = {flavors.of_flavor(name) for name, each in known.items() if each.node_labels == after.node_labels}
    ambiguous = flavors.warn_flavors_of_the_same_nodes(known, tree, context)
    concerned = (each for each in ambiguous if each.object in alike)
    return Findings(new_violations, (*flavors.warn_unlabelled_beside_labelled(known), *concerned))


def _labels_and_taints(flavor: Flavor) -> tuple[object, object]:
    return (flavor.node_labels, flavor.node_taints)
