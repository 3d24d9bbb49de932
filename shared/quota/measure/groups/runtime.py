"""All groups' numbers for one key: requests add up from the leaves, runtime is divided from root, charge adds up again.

A column starts from the previous numbers and computes only what changed: sums take differences, and a parent is divided
again if its runtime changed, or what the division reads of one of its children. Without previous numbers everything has
changed; the result is the same.

See docs/specification.md §3.3 and §3.7.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from shared.quota.measure.fair_share import Sibling, divide
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.groups.group_draft import GroupDraft
from shared.quota.measure.inputs.world import PastUse
from shared.quota.measure.leaves.leaf_totals import LeafTotals
from shared.quota.measure.static.potential_available import UNBOUND, Bounds
from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource

_NOTHING: Final[GroupNumbers] = {}


class Column:
    """The groups' numbers for one key, while they are computed."""

    def __init__(
        self,
        tree_index: TreeIndex,
        key: FlavorResource,
        past_use: PastUse,
        previous: Mapping[str, GroupNumbers],
    ) -> None:
        self._tree_index = tree_index
        self._key = key
        self._past_use = past_use
        self._previous = previous
        self._drafts: dict[str, GroupDraft] = {}
        self._with_changed_child: set[str] = set()
        """Parents to divide again even if their runtime is as before."""
        self._with_other_age: set[str] = set()
        """Parents of which a child has other work that waits longest."""
        self._levels: list[list[GroupDraft]] = [[] for _ in range(1 + tree_index.height)]

    def mark(self, names: Iterable[str]) -> None:
        """Compute these groups again: their limits or bounds changed."""
        for name in names:
            draft = self._draft(name)
            limits, before = draft.limits, draft.previous
            if name != ROOT and (limits.min, limits.guarantee, limits.weight) != (
                before.min,
                before.guarantee,
                before.weight,
            ):
                self._with_changed_child.add(self._tree_index.parents[name])

    def mark_past_use(self, names: Iterable[str]) -> None:
        """Divide the parents of these groups again, where past use can decide who gets the units that remain.

        It cannot where all children get all that they can use, in whatever order they come.
        """
        for parent in {self._tree_index.parents.get(name) for name in names}:
            if parent is not None and not self._had_enough(parent):
                self._draft(parent)
                self._with_changed_child.add(parent)

    def _had_enough(self, parent: str) -> bool:
        """Return whether it had what its children demand; False also where one may hold more than it demands."""
        known = self._previous.get(parent, _NOTHING).get(self._key)
        return known is not None and known.runtime >= known.request and not known.non_preemptible

    def set_totals(self, leaf: str, total: LeafTotals) -> None:
        """Set what `leaf` uses and requests now."""
        draft = self._draft(leaf)
        draft.used, draft.non_preemptible, draft.request, draft.waiting_since = total

    def change_system(self, before: LeafTotals, after: LeafTotals) -> None:
        """Replace what `system` used by what it uses: it counts in root's sums, not in charge or the division."""
        root = self._draft(ROOT)
        root.used += after.used - before.used
        root.non_preemptible += after.non_preemptible - before.non_preemptible
        root.request += after.request - before.request

    def resolve(self, runtime: Amount) -> None:
        """Compute everything, root's runtime being `runtime`."""
        self._draft(ROOT)
        for level in reversed(self._levels):
            for draft in level:
                self._pass_up_demand(draft)
        self._draft(ROOT).runtime = runtime
        for level in self._levels:
            for draft in level:
                self._divide(draft)
        for level in reversed(self._levels):
            for draft in level:
                self._pass_up_charge(draft)

    def results(self, bounds: Bounds) -> dict[str, Numbers]:
        """Return the numbers of every group that was computed."""
        return {name: draft.numbers(bounds.get(name, UNBOUND).effective_min) for name, draft in self._drafts.items()}

    def _draft(self, name: str) -> GroupDraft:
        found = self._drafts.get(name)
        if found is None:
            found = self._drafts[name] = GroupDraft(
                name,
                self._tree_index.limit(name, self._key),
                self._previous.get(name, {}).get(self._key, NO_NUMBERS),
            )
            self._levels[self._tree_index.depths[name]].append(found)
        return found

    def _pass_up_demand(self, draft: GroupDraft) -> None:
        previous = draft.previous
        draft.resolve_demand()
        if draft.name in self._with_other_age:
            draft.waiting_since = self._oldest_below(draft.name)
        if draft.name == ROOT:
            return
        parent = self._draft(self._tree_index.parents[draft.name])
        parent.used += draft.used - previous.used
        parent.non_preemptible += draft.non_preemptible - previous.non_preemptible
        parent.request += draft.demand - previous.demand
        parent.kept_below += draft.kept - previous.kept
        if draft.waiting_since != previous.waiting_since:
            self._with_other_age.add(parent.name)
        read = (draft.used, draft.non_preemptible, draft.demand, draft.waiting_since)  # by the division, beside limits
        if read != (previous.used, previous.non_preemptible, previous.demand, previous.waiting_since):
            self._with_changed_child.add(parent.name)

    def _oldest_below(self, parent: str) -> datetime | None:
        """Return since when the longest waiting child waits."""
        drafts, previous, key = self._drafts, self._previous, self._key
        names = self._tree_index.children.get(parent, ())
        below = [drafts.get(name) or previous.get(name, _NOTHING).get(key) for name in names]
        return min([each.waiting_since for each in below if each and each.waiting_since], default=None)

    def _divide(self, parent: GroupDraft) -> None:
        """Set the runtime of the children where it changes."""
        is_as_before = parent.runtime == parent.previous.runtime and parent.name not in self._with_changed_child
        if is_as_before or self._tree_index.is_leaf(parent.name):
            return
        drafts, previous, key = self._drafts, self._previous, self._key
        siblings: dict[str, Sibling] = {}
        for name in self._tree_index.children.get(parent.name, ()):
            draft = drafts.get(name)
            # The `runtime` of a draft still is the previous one: each parent is divided at most once.
            numbers = draft.numbers(0) if draft else previous.get(name, _NOTHING).get(key)
            if numbers is not None:
                past_use = self._past_use.get(name)
                siblings[name] = Sibling(name, numbers, past_use.get(key, 0) if past_use else 0)
        for name, runtime in divide(parent.runtime, siblings.values()).items():
            if runtime != siblings[name].numbers.runtime:
                self._draft(name).runtime = runtime

    def _pass_up_charge(self, draft: GroupDraft) -> None:
        if self._tree_index.is_leaf(draft.name):
            draft.charge = draft.used
        if draft.name != ROOT:
            difference = draft.contribution() - draft.previous_contribution()
            if difference:
                self._draft(self._tree_index.parents[draft.name]).charge += difference


def is_worth_keeping(tree_index: TreeIndex, group: str, key: FlavorResource, numbers: Numbers) -> bool:
    """Whether the group has this key: it or a group below covers it, or a workload below uses it without cover."""
    return key in tree_index.limits[group] or numbers.used > 0
