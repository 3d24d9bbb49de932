"""All groups' numbers for one key: requests add up from the leaves, runtime is divided from root, charge adds up again.

A column starts from the previous numbers and touches only what changed: sums take differences, and a parent is divided
again only where the outcome could be another. Without previous numbers everything has changed; the result is the same.

See docs/specification.md §3.3 and §3.7.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from shared.quota.measure.fair_share import Sibling, divide
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers, Numbers
from shared.quota.measure.leaves.leaf_totals import LeafTotals
from shared.quota.measure.static.potential_available import UNBOUND, Bounds
from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.limits import Limits
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource


class Family(NamedTuple):
    """What the children of one parent are owed first, and what they could use, together."""

    floors: Amount = 0
    wants: Amount = 0


NO_FAMILY: Final = Family()
Families = Mapping[str, Family]
"""parent -> its children's sums, for one key."""


def floor_of(numbers: Numbers) -> Amount:
    """What the group gets before anybody gets more."""
    return max(min(numbers.min, numbers.demand), numbers.non_preemptible, numbers.guarantee)


def want_of(numbers: Numbers) -> Amount:
    """What the group could get when there is enough for all."""
    floor = floor_of(numbers)
    return max(floor, numbers.demand) if numbers.weight else floor


class GroupDraft:
    """One group's numbers on their way; `previous` are those it had, NO_NUMBERS when it had none."""

    __slots__ = (
        "charge",
        "demand",
        "floor",
        "floors",
        "is_new",
        "limits",
        "name",
        "non_preemptible",
        "previous",
        "request",
        "runtime",
        "touched",
        "used",
        "want",
        "wants",
    )

    def __init__(self, name: str, limits: Limits, previous: Numbers | None, family: Family) -> None:
        self.name = name
        self.limits = limits
        self.is_new = previous is None
        self.previous = previous = NO_NUMBERS if previous is None else previous
        self.used, self.non_preemptible, self.request = previous.used, previous.non_preemptible, previous.request
        self.demand, self.runtime, self.charge = previous.demand, previous.runtime, previous.charge
        self.floor, self.want = floor_of(previous), want_of(previous)
        self.floors, self.wants = family
        self.touched: list[GroupDraft] = []

    def resolve_demand(self) -> None:
        """Work out what follows from the sums and the limits."""
        limits = self.limits
        self.demand = max(limits.guarantee, min(limits.ceiling, self.request))
        self.floor = max(min(limits.min, self.demand), self.non_preemptible, limits.guarantee)
        self.want = max(self.floor, self.demand) if limits.weight else self.floor

    def divides_as_before(self) -> bool:
        """Whether the siblings' division sees no difference between this child and what it was."""
        previous, limits = self.previous, self.limits
        return (
            not self.is_new
            and self.floor == floor_of(previous)
            and self.non_preemptible == previous.non_preemptible
            and limits.min == previous.min
            and limits.weight == previous.weight
        )

    def stays_hungry(self) -> bool:
        """Whether it wanted more than it got and still does: then how much more makes no difference."""
        return self.divides_as_before() and min(self.want, want_of(self.previous)) > self.previous.runtime

    def contribution(self) -> Amount:
        """What it costs its parent."""
        return max(min(self.limits.guarantee, self.runtime), self.charge)

    def previous_contribution(self) -> Amount:
        """What it cost its parent."""
        return max(min(self.previous.guarantee, self.previous.runtime), self.previous.charge)

    def as_sibling(self) -> Sibling:
        """Itself, to the division."""
        limits = self.limits
        return Sibling(self.name, limits.min, limits.weight, limits.guarantee, self.non_preemptible, self.demand)

    def numbers(self, effective_min: Amount) -> Numbers:
        """The finished numbers."""
        return Numbers(
            min=self.limits.min,
            effective_min=effective_min,
            guarantee=self.limits.guarantee,
            ceiling=self.limits.ceiling,
            weight=self.limits.weight,
            request=self.request,
            used=self.used,
            non_preemptible=self.non_preemptible,
            charge=self.charge,
            demand=self.demand,
            runtime=self.runtime,
        )


class Column:
    """The groups' numbers for one key, while they are worked out."""

    def __init__(
        self, tree_index: TreeIndex, key: FlavorResource, previous: Mapping[str, GroupNumbers], families: Families
    ) -> None:
        self._tree_index = tree_index
        self._key = key
        self._previous = previous
        self._families = families
        self._drafts: dict[str, GroupDraft] = {}
        self._levels: list[list[GroupDraft]] = [[] for _ in range(1 + tree_index.height)]

    def mark(self, names: Iterable[str]) -> None:
        """Groups whose limits or bounds changed."""
        for name in names:
            self._draft(name)

    def set_totals(self, leaf: str, total: LeafTotals) -> None:
        """What `leaf` uses, holds and requests now."""
        self._draft(leaf).used, self._draft(leaf).non_preemptible, self._draft(leaf).request = total

    def change_system(self, before: LeafTotals, after: LeafTotals) -> None:
        """What `system` used and uses now: it counts in root's sums, but neither in charge nor in the division."""
        root = self._draft(ROOT)
        root.used += after.used - before.used
        root.non_preemptible += after.non_preemptible - before.non_preemptible
        root.request += after.request - before.request

    def resolve(self, runtime: Amount) -> None:
        """Work everything out, root's runtime being `runtime`."""
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
        """The numbers of every group that was touched."""
        return {name: draft.numbers(bounds.get(name, UNBOUND).effective_min) for name, draft in self._drafts.items()}

    def families(self) -> dict[str, Family]:
        """The sums of every parent that was touched."""
        return {
            name: Family(draft.floors, draft.wants)
            for name, draft in self._drafts.items()
            if name in self._tree_index.children
        }

    def _draft(self, name: str) -> GroupDraft:
        found = self._drafts.get(name)
        if found is None:
            previous = self._previous.get(name, {}).get(self._key)
            limits = self._tree_index.limit(name, self._key)
            found = self._drafts[name] = GroupDraft(name, limits, previous, self._families.get(name, NO_FAMILY))
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
        parent.floors += draft.floor - floor_of(previous)
        parent.wants += draft.want - want_of(previous)
        if draft.want != want_of(previous) or not draft.divides_as_before():
            parent.touched.append(draft)

    def _divide(self, parent: GroupDraft) -> None:
        """Set the runtime of the children where it may have changed."""
        same_runtime = not parent.is_new and parent.runtime == parent.previous.runtime
        if parent.name not in self._tree_index.children or (same_runtime and not parent.touched):
            return
        had_enough = self._families.get(parent.name, NO_FAMILY).wants <= parent.previous.runtime
        if had_enough and parent.wants <= parent.runtime:
            for child in parent.touched:
                child.runtime = child.want
        elif not (same_runtime and all(child.stays_hungry() for child in parent.touched)):
            self._divide_all(parent)

    def _divide_all(self, parent: GroupDraft) -> None:
        siblings: dict[str, tuple[Amount, Sibling]] = {}
        for name in self._tree_index.children[parent.name]:
            draft = self._drafts.get(name)
            if draft is not None:
                siblings[name] = draft.runtime, draft.as_sibling()
                continue
            known = self._previous.get(name, {}).get(self._key)
            if known is not None:
                siblings[name] = known.runtime, _sibling(name, known)
        for name, runtime in divide(parent.runtime, [sibling for _, sibling in siblings.values()]).items():
            if runtime != siblings[name][0]:
                self._draft(name).runtime = runtime

    def _pass_up_charge(self, draft: GroupDraft) -> None:
        if self._tree_index.is_leaf(draft.name):
            draft.charge = draft.used
        if draft.name != ROOT:
            difference = draft.contribution() - draft.previous_contribution()
            if difference:
                self._draft(self._tree_index.parents[draft.name]).charge += difference


def _sibling(name: str, numbers: Numbers) -> Sibling:
    return Sibling(name, numbers.min, numbers.weight, numbers.guarantee, numbers.non_preemptible, numbers.demand)


def is_worth_keeping(tree_index: TreeIndex, group: str, key: FlavorResource, numbers: Numbers) -> bool:
    """Whether the group has this key: it or a group below covers it, or work below uses it without cover."""
    return key in tree_index.limits[group] or numbers.used > 0
