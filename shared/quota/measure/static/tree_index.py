"""The tree as the arithmetic reads it: the groups that reach root, in order, and every group's limits for every key.

It depends only on the tree and on root's capacity, so it is kept until one of them changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from shared.quota.model.limits import (
    NO_CAPS,
    UNCOVERED,
    Caps,
    Limits,
    caps_below,
    is_capped_by_capacity,
    limits_of,
    root_limits,
)
from shared.quota.model.tree import ROOT, SYSTEM, Group, Tree
from shared.resources import Amount, FlavorResource

GroupLimits = Mapping[FlavorResource, Limits]


@dataclass(frozen=True, eq=False)
class TreeIndex:
    """One tree under one capacity. `system` and groups that do not reach root are not in it."""

    tree: Tree
    capacity: Mapping[FlavorResource, Amount]
    outside: tuple[str, ...]
    """Groups that do not reach root."""
    order: tuple[str, ...]
    """Root first, level by level: parents before children, one of the deepest groups last."""
    parents: Mapping[str, str]
    children: Mapping[str, tuple[str, ...]]
    """parent -> the names of its children."""
    depths: Mapping[str, int]
    caps: Mapping[str, Caps]
    caps_below: Mapping[str, Caps]
    own: Mapping[str, GroupLimits]
    """group -> limits for the keys that the group itself covers."""
    limits: Mapping[str, GroupLimits]
    """`own`, and UNCOVERED for keys that only groups below cover. Root has all keys of the tree and the capacity."""
    _weights_below: dict[tuple[str, FlavorResource], Amount] = field(default_factory=dict, init=False, repr=False)
    """(parent, key) → the weights of its children together, added up when first requested."""

    @cached_property
    def height(self) -> int:
        """The depth of the deepest group; root's is 0."""
        return self.depths[self.order[-1]]

    def weights_below(self, parent: str, key: FlavorResource) -> Amount:
        """Return the weights of the children of `parent` together."""
        found = self._weights_below.get((parent, key))
        if found is None:
            weights = (self.limits[child].get(key, UNCOVERED).weight for child in self.children[parent])
            found = self._weights_below[parent, key] = sum(weights)
        return found

    def limit(self, group: str, key: FlavorResource) -> Limits:
        """That group's limits for `key`, also where nothing covers it."""
        found = self.limits[group].get(key)
        if found is not None:
            return found
        return root_limits(self.tree[ROOT], key, self.capacity.get(key, 0)) if group == ROOT else UNCOVERED

    @cached_property
    def having(self) -> Mapping[FlavorResource, Sequence[str]]:
        """key -> the groups that have limits for it."""
        found: dict[FlavorResource, list[str]] = {}
        for name, limits in self.limits.items():
            for key in limits:
                found.setdefault(key, []).append(name)
        return found

    def is_leaf(self, name: str) -> bool:
        """Return whether the group holds workloads: isParent is false and no group names it as parent."""
        return name in self.depths and name != ROOT and name not in self.children and not self.tree[name].is_parent

    def path(self, name: str) -> tuple[str, ...]:
        """Names from `name` up to root."""
        walked = [name]
        while walked[-1] != ROOT:
            walked.append(self.parents[walked[-1]])
        return tuple(walked)

    def path_groups(self, name: str) -> tuple[Group, ...]:
        """Return the groups from `name` up to root."""
        return tuple(self.tree[each] for each in self.path(name))

    def has_same_shape(self, other: "TreeIndex") -> bool:
        """Return whether both hold the same groups in the same places."""
        return self.parents == other.parents and all(
            self.tree[name].is_parent == other.tree[name].is_parent for name in self.parents
        )

    def changed_limits(self, previous: "TreeIndex") -> dict[FlavorResource, list[str]]:
        """key -> the groups whose limits for it differ; both have the same shape."""
        changed: dict[FlavorResource, list[str]] = {}
        for name in self.order:
            now, before = self.limits[name], previous.limits[name]
            if now is not before:
                for key in now.keys() | before.keys():
                    if now.get(key) != before.get(key):
                        changed.setdefault(key, []).append(name)
        return changed


def build_tree_index(
    tree: Tree, capacity: Mapping[FlavorResource, Amount], previous: TreeIndex | None = None
) -> TreeIndex:
    """Walk `tree` once. `previous`: limits that have not changed are reused."""
    if previous is not None and previous.tree is tree:
        return _with_capacity(previous, capacity)
    parents: dict[str, str] = {}
    children: dict[str, tuple[str, ...]] = {}
    depths = {ROOT: 0}
    order = [ROOT]
    for name in order:
        below = tuple(child for child in tree.children(name) if child not in (SYSTEM, ROOT))
        if below:
            children[name] = below
        for child in below:
            parents[child] = name
            depths[child] = depths[name] + 1
        order.extend(below)
    caps, below_caps = _inherit(tree, order, parents, previous)
    own = _own_limits(tree, caps, capacity, previous)
    limits = _with_keys_below(order, children, own, previous)
    limits[ROOT] = _of_root(tree, children, limits, capacity)
    return TreeIndex(
        tree=tree,
        capacity=capacity,
        outside=tuple(name for name in tree.groups if name not in depths and name != SYSTEM),
        order=tuple(order),
        parents=parents,
        children=children,
        depths=depths,
        caps=caps,
        caps_below=below_caps,
        own=own,
        limits=limits,
    )


def _with_capacity(known: TreeIndex, capacity: Mapping[FlavorResource, Amount]) -> TreeIndex:
    """Return the same tree under another capacity."""
    own = _own_limits(known.tree, known.caps, capacity, known)
    limits = _with_keys_below(known.order, known.children, own, known)
    limits[ROOT] = _of_root(known.tree, known.children, limits, capacity)
    return replace(known, capacity=capacity, own=own, limits=limits)


def _inherit(
    tree: Tree, order: list[str], parents: Mapping[str, str], previous: TreeIndex | None
) -> tuple[dict[str, Caps], dict[str, Caps]]:
    """Return what each group, and what its children, inherit for an absent max; known objects where nothing changed."""
    caps: dict[str, Caps] = {}
    below: dict[str, Caps] = {}
    for name in order:
        caps[name] = NO_CAPS if name == ROOT else below[parents[name]]
        known = previous.caps.get(name) if previous is not None else None
        if previous is None or known is None or known != caps[name]:
            below[name] = caps_below(tree[name], caps[name])
            continue
        caps[name] = known
        same = previous.tree[name] is tree[name]
        below[name] = previous.caps_below[name] if same else caps_below(tree[name], known)
    return caps, below


def _own_limits(
    tree: Tree, caps: Mapping[str, Caps], capacity: Mapping[FlavorResource, Amount], previous: TreeIndex | None
) -> dict[str, GroupLimits]:
    if previous is None:
        return {name: limits_of(tree[name], inherited, capacity) for name, inherited in caps.items()}
    keys = capacity.keys() | previous.capacity.keys()
    changed = [key for key in keys if capacity.get(key, 0) != previous.capacity.get(key, 0)]
    own: dict[str, GroupLimits] = {}
    for name, inherited in caps.items():
        group = tree[name]
        is_as_it_was = previous.tree.get(name) is group and previous.caps.get(name) is inherited
        if is_as_it_was and not any(is_capped_by_capacity(group, inherited, key) for key in changed):
            own[name] = previous.own[name]
        else:
            own[name] = limits_of(group, inherited, capacity)
    return own


def _with_keys_below(
    order: Sequence[str],
    children: Mapping[str, tuple[str, ...]],
    own: Mapping[str, GroupLimits],
    previous: TreeIndex | None,
) -> dict[str, GroupLimits]:
    """Return every group's limits, root's left as they are; the same objects as in `previous` where nothing changed."""
    limits: dict[str, GroupLimits] = dict(own)
    for name in reversed(order):
        below = children.get(name)
        if not below or name == ROOT:
            continue
        if (
            previous is not None
            and previous.own.get(name) is own[name]
            and previous.children.get(name) == below
            and all(limits[child] is previous.limits[child] for child in below)
        ):
            limits[name] = previous.limits[name]
            continue
        missing = {key for child in below for key in limits[child]} - own[name].keys()
        if missing:
            limits[name] = {**own[name], **dict.fromkeys(missing, UNCOVERED)}
    return limits


def _of_root(
    tree: Tree,
    children: Mapping[str, tuple[str, ...]],
    limits: Mapping[str, GroupLimits],
    capacity: Mapping[FlavorResource, Amount],
) -> dict[FlavorResource, Limits]:
    keys = {key for child in children.get(ROOT, ()) for key in limits[child]}
    keys.update(limits[ROOT], (key for key, amount in capacity.items() if amount))
    return {key: root_limits(tree[ROOT], key, capacity.get(key, 0)) for key in keys}
