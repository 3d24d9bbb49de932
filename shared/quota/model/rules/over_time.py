"""The rules at every moment: an edit, or a whole tree, is judged as it will be in force whenever that changes.

Overrides and windows change numbers, never what a group covers nor where it is. So only the rules about quotas can
find more at another moment, and only among groups that are compared with each other: a parent and its children.

See docs/specification.md §4.13.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from shared.api.json.reading import write_moment
from shared.quota.model.in_force import amendments_at, group_in_force
from shared.quota.model.in_force.extremes import at_its_least, at_its_most, has_percents
from shared.quota.model.in_force.instants import MOST, instants
from shared.quota.model.rules.checking import check_change, check_quotas_below, check_tree
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Findings, Violation
from shared.quota.model.rules.groups.timed import check_moments, too_many_moments
from shared.quota.model.tree import ROOT, Group, Tree


def check_change_over_time(before: Tree, after: Tree, name: str, context: Context) -> Findings:
    """Return what the edit of group `name` breaks now or at a later moment; the trees are as they are written.

    Of several moments at which it breaks something, the first is reported; warnings are those of now.
    """
    if context.now is None:
        return check_change(before, after, name, context)
    family = family_of(name, (before, after))
    groups = tuple(tree[each] for each in sorted(family) for tree in (after, before) if each in tree)
    moments = instants(groups, context.now)
    new = after.get(name)
    if new is not None and (too_many := tuple(check_moments(before.get(name), new, moments))):
        if not _is_always_legal(before, after, new, context.now, context):
            return Findings(too_many)
        moments = moments[:1]
    now = Findings()
    for moment in moments:
        found = check_change(in_force(before, family, moment), in_force(after, family, moment), name, context)
        now = found if moment == context.now else now
        if found.violations:
            concerned = [after[each] for each in sorted(family) if each in after]
            broken = tuple(at_moment(each, moment, context.now, concerned) for each in found.violations)
            return Findings(broken, now.warnings)
    return now


def _is_always_legal(before: Tree, after: Tree, new: Group, now: datetime, context: Context) -> bool:
    """Return whether the edit breaks nothing however the others are amended; False where only their moments tell."""
    name, old = new.name, before.get(new.name)
    names = family_of(name, (before, after)) - {name}
    worst = at_worst(old, new, [tree[each] for tree in (before, after) for each in names if each in tree], now)
    if worst is None:
        return False
    was, will_be = (each_as(tree, names, worst) for tree in (before, after))
    moments = instants(filter(None, (old, new)), now)
    return len(moments) <= MOST and not any(
        check_change(in_force(was, (name,), moment), in_force(will_be, (name,), moment), name, context).violations
        for moment in moments
    )


def at_worst(old: Group | None, new: Group, others: Iterable[Group], now: datetime) -> Callable[[Group], Group] | None:
    """Return how each other group is taken so that what is legal with them then is legal at all times.

    The parent promises its least, siblings and children their most. So an edit that takes nothing from others is legal
    whatever their overrides and windows are, and nobody who edits a sibling can keep it from being judged. None: where
    there are percents or the group moves, this is not known.
    """
    if (old is not None and old.parent != new.parent) or any(map(has_percents, (*others, new, *filter(None, (old,))))):
        return None
    return lambda group: at_its_least(group, now) if group.name == new.parent else at_its_most(group, now)


def check_tree_over_time(tree: Tree, context: Context, until: datetime | None = None) -> Findings:
    """Return what is wrong with a whole tree now, and what will be at a later moment; `until`: as of `instants`."""
    if context.now is None:
        return check_tree(tree, context)
    found = check_tree(in_force(tree, frozenset(tree.groups), context.now), context)
    known = {(each.rule, each.object, each.field) for each in found.violations}
    for violation in _broken_later(tree, context, context.now, until):
        if (violation.rule, violation.object, violation.field) not in known:
            found += Findings((violation,))
    return found


def _broken_later(tree: Tree, context: Context, now: datetime, until: datetime | None) -> Iterator[Violation]:
    for parent in sorted({group.parent or ROOT for group in tree.groups.values()}):
        family = {parent, *tree.children(parent)} & tree.groups.keys()
        if not any(tree[each].overrides or tree[each].windows for each in family):
            continue
        names, reported = sorted(family), set[tuple[str, ...]]()
        moments = instants((tree[each] for each in names), now, until)
        if len(moments) > MOST:
            yield from too_many_moments(parent, moments)
            continue
        for moment in moments[1:]:
            at = in_force(tree, family, moment)
            for violation in check_quotas_below(at, parent, context):
                place = (violation.rule, violation.object, violation.field)
                if place not in reported:
                    reported.add(place)
                    yield at_moment(violation, moment, now, (tree[each] for each in names))


def family_of(name: str, trees: Iterable[Tree]) -> frozenset[str]:
    """Return the groups with which `name` is compared in one of the trees: itself, parent, siblings, children."""
    found = {name}
    for tree in trees:
        group = tree.get(name)
        found.update(tree.children(name))
        if group is not None and group.parent is not None:
            found.update((group.parent, *tree.children(group.parent)))
    return frozenset(found)


def in_force(tree: Tree, names: Collection[str], moment: datetime) -> Tree:
    """Return the tree with these groups as they are in force at that moment."""
    return each_as(tree, names, lambda group: group_in_force(group, moment))


def each_as(tree: Tree, names: Iterable[str], change: Callable[[Group], Group]) -> Tree:
    """Return the tree with each of these groups as `change` returns it, with the same parent."""
    changed = ((name, tree[name], change(tree[name])) for name in names if name in tree)
    return tree.with_same_parents({name: group for name, was, group in changed if group is not was})


def at_moment(violation: Violation, moment: datetime, now: datetime, groups: Iterable[Group]) -> Violation:
    """Return the violation with the moment at which it is one, and with what is open then.

    What is wrong with an override or window itself is wrong at any time.
    """
    if violation.field.startswith(("spec.overrides", "spec.windows")):
        return violation
    opened = [f"{group.name} {each.field}" for group in groups for each in amendments_at(group, moment)]
    if not opened and moment == now:
        return violation
    when = "now" if moment == now else f"from {write_moment(moment)} on"
    why = f" (with {', '.join(opened[:6])}{' and more' if len(opened) > 6 else ''})" if opened else ""
    return replace(violation, message=f"{when}{why}: {violation.message}")
