"""Which groups have an entry of counts: those that name one, and all above and below them, where it is not bounded.

What a group names binds all below it, though they do not name it; and the groups above must have it to pass it on:

    research             max of cpu alone    → counts workloads, no max of its own
      vision             max: workloads 5    → 5
        vision-a, -b     nothing             → count workloads, at most the 5 of vision
      nlp                nothing             → its workloads are not counted

It is done once, before anything is measured: what reads the tree knows entries alone. See docs/specification.md §2.12.
"""

from collections.abc import Mapping
from dataclasses import replace

from shared.api.names import COUNTS
from shared.quota.model.membership import GroupByName, path_of
from shared.quota.model.tree import ROOT, SYSTEM, Entry, Group, Tree

NO_COUNTS: frozenset[str] = frozenset()


def counts_in(group: Group) -> frozenset[str]:
    """Return the counts that the group itself names."""
    entry = group.entry(COUNTS)
    return NO_COUNTS if entry is None else entry.covered


def counts_on_path(groups: GroupByName, name: str) -> frozenset[str]:
    """Return what the workloads of a leaf count as: the counts that it or a group above it names."""
    found = NO_COUNTS
    for group in path_of(groups, name):
        found |= counts_in(group)
    return found


def with_counts(tree: Tree, previous: Tree | None = None) -> Tree:
    """Return the tree in which all groups above and below one that names a count have it.

    Groups that come out as in `previous` are the same objects, and so is the tree if all of them do.
    """
    if not tree.counts:
        return tree
    found: dict[str, Group] = {}
    for name, wanted in _wanted(tree).items():
        missing = wanted - counts_in(tree[name])
        if missing:
            group = _with_entry(tree[name], missing)
            known = None if previous is None else previous.get(name)
            found[name] = known if known == group else group
    counted = tree.with_same_parents(found)
    return previous if previous is not None and _is_the_same(counted, previous) else counted


def _is_the_same(tree: Tree, other: Tree) -> bool:
    return len(tree.groups) == len(other.groups) and all(other.get(name) is each for name, each in tree.groups.items())


def _wanted(tree: Tree) -> Mapping[str, frozenset[str]]:
    """Return group → the counts that it has. Root has what the cluster has; `system` is never limited."""
    found: dict[str, frozenset[str]] = {}
    for group in tree.groups.values():
        own = counts_in(group)
        if own:
            for name in (*tree.path(group.name), *tree.subtree(group.name)):
                found[name] = found.get(name, NO_COUNTS) | own
    return {name: counts for name, counts in found.items() if name not in (ROOT, SYSTEM)}


def _with_entry(group: Group, counts: frozenset[str]) -> Group:
    """Return the group with an entry that promises nothing of these counts and does not bound them."""
    entry = group.entry(COUNTS) or Entry(COUNTS)
    others = (each for each in group.quotas if each.flavor != COUNTS)
    return replace(group, quotas=(*others, replace(entry, min={**dict.fromkeys(sorted(counts), 0), **entry.min})))
