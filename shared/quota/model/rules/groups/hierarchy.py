"""Where a group may be in the tree: its parent, the path to root, the depth, and what its parent must cover.

Walks are bounded by the number of groups, whatever is stored.

See docs/specification.md §4.3.
"""

from collections.abc import Iterator

from shared.api.names import COUNTS
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group, placed, shortened
from shared.quota.model.rules.listing import SHOWN
from shared.quota.model.tree import ROOT, Entry, Group, Tree


def check_not_own_parent(group: Group) -> Iterator[Violation]:
    """A group is not its own parent, also at creation."""
    if group.parent == group.name:
        message = "a group cannot be its own parent; leave parent out for a child of root"
        yield Violation("OwnParent", of_group(group.name), "spec.parent", message)


def check_no_cycle(tree: Tree, name: str, _context: Context) -> Iterator[Violation]:
    """Following parents from `name` never reaches a group twice. The message names the whole cycle."""
    path = tree.path(name)
    last = tree[path[-1]].parent
    if last is None or last not in path or len(path) == 1:
        return
    cycle = path[path.index(last) :]
    shown = chain((*cycle, last))
    if last == name:
        message = f"{name} would be above itself: {shown}; give one of them another parent"
    else:
        message = f"the groups above {name} form a cycle: {shown}; give one of them another parent"
    yield Violation("Cycle", of_group(name), "spec.parent", message, subject=(name,))


def cycle_heads(tree: Tree) -> Iterator[str]:
    """Of each cycle in the tree the group whose name sorts first."""
    done: set[str] = set()
    for name in sorted(tree.groups):
        path = []
        at: str | None = name
        while at is not None and at in tree and at not in done:
            done.add(at)
            path.append(at)
            at = tree[at].parent
        if at is not None and at in path:
            cycle = path[path.index(at) :]
            if len(cycle) > 1:
                yield min(cycle)


def check_parent_holds_groups(tree: Tree, name: str, _context: Context) -> Iterator[Violation]:
    """The parent is not a leaf; one that does not exist yet is judged when it appears."""
    above = parent_of(tree, name)
    if above is not None and not above.is_parent:
        message = (
            f"parent {above.name} is a leaf: it holds workloads, not groups; name a group with isParent: true, "
            f"or set that on {above.name} while it has no workloads"
        )
        yield Violation("ParentIsLeaf", of_group(name), "spec.parent", message, subject=(name, above.name))


def check_depth(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """At most `max_depth` groups on a path without root, for the group and all below it. A cycle has no depth."""
    path = tree.path(name)
    if name == ROOT or tree[path[-1]].parent in path:
        return
    depth = len([each for each in path if each != ROOT])
    below, deepest = _height(tree, name)
    if depth + below > context.max_depth:
        where = f"is on level {depth}" + (f", {deepest} below it on level {depth + below}" if below else "")
        message = f"{where}; at most {context.max_depth} levels below root are allowed: give it a parent higher up"
        excess = depth + below - context.max_depth
        yield Violation("TooDeep", of_group(name), "spec.parent", message, subject=(name,), excess=excess)


def _height(tree: Tree, name: str) -> tuple[int, str]:
    """Return how many levels lie below `name`, and the first group by name on the lowest; one walk of the subtree."""
    seen, level, height, deepest = {name}, [name], 0, name
    while True:
        level = [child for each in level for child in tree.children(each) if child not in seen]
        if not level:
            return height, deepest
        seen.update(level)
        height, deepest = height + 1, min(level)


def first_too_deep(tree: Tree, context: Context) -> Iterator[str]:
    """Yield the groups on the first level that is one too many: everything below them is too deep as well."""
    tops = [name for name, group in tree.groups.items() if name != ROOT and parent_of(tree, name, root=False) is None]
    seen, level = set(tops), sorted(tops)
    for _ in range(context.max_depth):
        level = [child for each in level for child in tree.children(each) if child not in seen]
        seen.update(level)
    yield from sorted(level)


def check_covered_by_parent(tree: Tree, name: str, _context: Context) -> Iterator[Violation]:
    """Flavors and resources are ones the parent has; children of root have what the cluster has."""
    above = parent_of(tree, name, root=False)
    if above is None:
        return
    for field, entry in placed(tree[name].quotas):
        upper = above.entry(entry.flavor)
        if entry.flavor == COUNTS:
            continue  # Every group has pods and workloads to count.
        if upper is None:
            has = ", ".join(each.flavor for each in above.quotas[:SHOWN]) or "none"
            message = (
                f"parent {above.name} has no entry for flavor {shortened(entry.flavor)} (it has {has}); "
                "add one there or take this one out"
            )
            subject = (name, above.name, entry.flavor)
            yield Violation("FlavorNotInParent", of_group(name), f"{field}.flavor", message, subject=subject)
        else:
            yield from _uncovered(name, field, entry, above, upper)


def _uncovered(name: str, field: str, entry: Entry, above: Group, upper: Entry) -> Iterator[Violation]:
    missing = sorted(entry.covered - upper.covered)
    if missing:
        has = ", ".join(sorted(upper.covered)[:SHOWN]) or "nothing"
        message = (
            f"covers {', '.join(missing[:SHOWN])} of {entry.flavor}, parent {above.name} covers {has}; "
            "add it there or take it out here"
        )
        subject = (name, above.name, entry.flavor, *missing)
        yield Violation("ResourceNotInParent", of_group(name), field, message, subject=subject)


def warn_parent_absent(tree: Tree, name: str, _context: Context) -> Iterator[Violation]:
    """The parent does not exist yet: the group is accepted, and inactive until it does."""
    parent = tree[name].parent
    if parent is not None and parent not in tree:
        message = f"parent {shortened(parent)} does not exist yet; the group is inactive until it does"
        yield Violation("ParentAbsent", of_group(name), "spec.parent", message)


def warn_flavor_absent(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """A flavor does not exist yet: the group is accepted, and inactive until it does."""
    for field, entry in placed(tree[name].quotas):
        if not context.has_flavor(entry.flavor):
            message = f"flavor {shortened(entry.flavor)} does not exist yet; the group is inactive until it does"
            yield Violation("FlavorAbsent", of_group(name), f"{field}.flavor", message)


def parent_of(tree: Tree, name: str, *, root: bool = True) -> Group | None:
    """Return the parent if it exists and is another group; root only if `root`."""
    parent = tree[name].parent
    if parent is None or parent == name or (parent == ROOT and not root):
        return None
    return tree.get(parent)


def chain(names: tuple[str, ...]) -> str:
    """`a -> b -> c`, the middle of a long one left out."""
    if len(names) > SHOWN:
        left = len(names) - SHOWN
        names = (*names[: SHOWN // 2], f"({left} more)", *names[-SHOWN // 2 :])
    return " -> ".join(names)
