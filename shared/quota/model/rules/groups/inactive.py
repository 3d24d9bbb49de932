"""Which groups may start nothing, and why: absent parents and flavors, and illegal trees that were stored.

A broken group makes its subtree inactive and no other group; running workloads continue.

See docs/specification.md §4.12.
"""

from collections.abc import Collection, Iterable

from shared.quota.model.flavor import Flavor
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.rules.checking import check_written
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.tree import ROOT, Tree

_BY_ITSELF = "FlavorAbsent"
"""Groups below might not use the flavor that is absent above: each is judged by itself."""


def inactive_groups(tree: Tree, flavors: Collection[str], max_depth: int = 16) -> dict[str, Inactive]:
    """Return every group that may start nothing, by name, with the nearest reason; `flavors`: the names that exist.

    Of several reasons at one group the first in the rules' order counts, of several above it the nearest.
    """
    context = Context({name: Flavor(name) for name in flavors}, max_depth=max_depth)
    found = check_written(tree, context)
    absent = [each for each in found.warnings if each.rule in ("ParentAbsent", "FlavorAbsent")]
    causes: dict[str, Violation] = {}
    for violation in (*found.violations, *absent):
        kind, _, name = violation.object.partition("/")
        if kind == "QuotaGroup" and violation.rule == "Cycle":
            causes.update((member, violation) for member in tree.path(name))
        elif kind == "QuotaGroup":
            causes.setdefault(name, violation)
    return _spread(tree, causes)


def _spread(tree: Tree, causes: dict[str, Violation]) -> dict[str, Inactive]:
    """Return each cause at its group and, unless it is not inherited, at all groups below without an own cause."""
    attached = set(tree.subtree(ROOT))
    inactive: dict[str, Inactive] = {}
    for top in _tops(tree):
        waiting: list[tuple[str, str | None]] = [(top, None)]
        while waiting:
            name, source = waiting.pop()
            if name in inactive:
                continue
            cause = causes.get(name)
            if cause is not None:
                inactive[name] = Inactive(cause.rule, cause.message, name not in attached)
            elif source is not None:
                inactive[name] = _inherited(causes[source], source, detached=name not in attached)
            passed = name if cause is not None and cause.rule != _BY_ITSELF else source
            waiting.extend((child, passed) for child in tree.children(name) if child != name)
    return inactive


def _inherited(cause: Violation, source: str, *, detached: bool) -> Inactive:
    return Inactive(cause.rule, f"{source} above it: {cause.message}", detached)


def _has_parent(tree: Tree, name: str) -> bool:
    parent = tree[name].parent
    return parent is not None and parent in tree


def _tops(tree: Tree) -> Iterable[str]:
    """Return the groups from which to walk: those without a parent in the tree, then one of each cycle."""
    reached: set[str] = set()
    tops = [name for name in sorted(tree.groups) if not _has_parent(tree, name)]
    for top in tops:
        reached.update(tree.subtree(top))
    for name in sorted(tree.groups):
        if name not in reached:
            cycle = tree.path(name)
            last = tree[cycle[-1]].parent
            head = min(cycle[cycle.index(last) :]) if last in cycle else name
            tops.append(head)
            reached.update(tree.subtree(head))
    return tops
