"""All groups' numbers for one key: requests add up from the leaves, runtime is divided from root, charge adds up again.

A column starts from the previous numbers and computes only what changed: sums take differences, and a parent is divided
again if its runtime or one of its children changed. Without previous numbers everything has changed; the result is the
same.

See docs/specification.md §3.3 and §3.7.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from shared.quota.measure.fair_share import Sibling, divide
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.groups.group_draft import GroupDraft, sibling_in
from shared.quota.measure.inputs.world import PastUse
from shared.quota.measure.leaves.leaf_totals import LeafTotals
from shared.quota.measure.static.potential_available import UNBOUND, Bounds
from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class ColumnState:
    """What a column leaves for the next one of its key, beside the numbers."""

    ordered: frozenset[str] = frozenset()
    """The parents whose division depends on past use: units remained that no whole share covered."""
    waiting: Mapping[str, datetime] = field(default_factory=dict)
    """group -> when the oldest of the pending workloads that count in its subtree was queued."""


NO_STATE: Final = ColumnState()


class Column:
    """The groups' numbers for one key, while they are computed."""

    def __init__(
        self,
        tree_index: TreeIndex,
        key: FlavorResource,
        past_use: PastUse,
        previous: Mapping[str, GroupNumbers],
        state: ColumnState,
    ) -> None:
        self._tree_index = tree_index
        self._key = key
        self._past_use = past_use
        self._previous = previous
        self._state = state
        self._drafts: dict[str, GroupDraft] = {}
        self._levels: list[list[GroupDraft]] = [[] for _ in range(1 + tree_index.height)]
        self._ordered = set(state.ordered)

    def mark(self, names: Iterable[str]) -> None:
        """Compute these groups again: their limits or bounds changed."""
        for name in names:
            self._draft(name)

    def mark_past_use(self, names: Iterable[str]) -> None:
        """Divide the parents of these groups again, where their past use decided who got the units that remained."""
        for name in names:
            parent = self._tree_index.parents.get(name)
            if parent is not None and parent in self._state.ordered:
                self._draft(parent).has_changed_child = True

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

    def state(self) -> ColumnState:
        """Return what the next column of this key starts from."""
        return ColumnState(frozenset(self._ordered), self._waiting())

    def _waiting(self) -> Mapping[str, datetime]:
        """Since when groups wait now; the previous mapping if nothing has changed."""
        known, drafts = self._state.waiting, self._drafts.items()
        changed = {name: since for name, each in drafts if (since := each.waiting_since) != known.get(name)}
        if not changed:
            return known
        waiting = dict(known)
        for name, since in changed.items():
            if since is None:
                del waiting[name]
            else:
                waiting[name] = since
        return waiting

    def _draft(self, name: str) -> GroupDraft:
        found = self._drafts.get(name)
        if found is None:
            found = self._drafts[name] = GroupDraft(
                name,
                self._tree_index.limit(name, self._key),
                self._previous.get(name, {}).get(self._key, NO_NUMBERS),
                self._state.waiting.get(name),
            )
            self._levels[self._tree_index.depths[name]].append(found)
        return found

    def _pass_up_demand(self, draft: GroupDraft) -> None:
        previous = draft.previous
        draft.resolve_demand()
        if draft.name == ROOT:
            return
        parent = self._draft(self._tree_index.parents[draft.name])
        parent.used += draft.used - previous.used
        parent.non_preemptible += draft.non_preemptible - previous.non_preemptible
        parent.request += draft.demand - previous.demand
        if draft.waiting_since != draft.previous_waiting_since:
            self._pass_up_waiting(draft, parent)
        parent.has_changed_child = True

    def _pass_up_waiting(self, draft: GroupDraft, parent: GroupDraft) -> None:
        """Keep the parent's oldest; look at all children only when the oldest one itself got younger."""
        since, oldest = draft.waiting_since, parent.waiting_since
        if since is not None and (oldest is None or since <= oldest):
            parent.waiting_since = since
        elif draft.previous_waiting_since == oldest:
            found = (self._waiting_since(child) for child in self._tree_index.children[parent.name])
            parent.waiting_since = min((each for each in found if each is not None), default=None)

    def _waiting_since(self, name: str) -> datetime | None:
        draft = self._drafts.get(name)
        return self._state.waiting.get(name) if draft is None else draft.waiting_since

    def _divide(self, parent: GroupDraft) -> None:
        """Set the runtime of the children where it changes."""
        children = self._tree_index.children.get(parent.name, ())
        if not children or (parent.runtime == parent.previous.runtime and not parent.has_changed_child):
            return
        siblings: dict[str, tuple[Amount, Sibling]] = {}
        for name in children:
            past_use = self._past_use.get(name, {}).get(self._key, 0)
            draft = self._drafts.get(name)
            if draft is not None:
                # `runtime` still is the previous one: each parent is divided at most once.
                known = draft.numbers(0)
                siblings[name] = draft.runtime, sibling_in(name, known, past_use, draft.waiting_since)
            elif (numbers := self._previous.get(name, {}).get(self._key)) is not None:
                waiting_since = self._state.waiting.get(name)
                siblings[name] = numbers.runtime, sibling_in(name, numbers, past_use, waiting_since)
        division = divide(parent.runtime, [sibling for _, sibling in siblings.values()])
        (self._ordered.add if division.depends_on_order else self._ordered.discard)(parent.name)
        for name, runtime in division.runtimes.items():
            if runtime != siblings[name][0]:
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
