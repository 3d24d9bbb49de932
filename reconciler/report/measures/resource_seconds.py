"""How much each group has borrowed and lent, over time: amounts times milliseconds. docs/specification.md §9.4.

What the children of a group borrow together comes first from what their parent promised to none of them and from what
the parent itself borrows; the rest is lent by the children that leave part of their min idle, in proportion to that.

    a min 4 uses 1; b min 2 uses 4; the parent promises 6 and may use 7: b borrows 2, 1 of them promised to no group.
    So a lends 1.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from shared.cluster.state.faults.register import GROUP, Faults, Subject
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.resources import Amount, FlavorResource

Where = tuple[str, FlavorResource]
_MILLISECOND: Final = timedelta(milliseconds=1)


class Flow(NamedTuple):
    """What a group borrows and what it lends, in base units; or their sums over time, in units times milliseconds."""

    borrowed: Amount = 0
    lent: Amount = 0


NO_FLOW: Final = Flow()


class ResourceSeconds:
    """The sums since this process started to lead. Between two samples, the earlier one counts."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.totals: dict[Where, Flow] = {}
        self._flows: dict[str, dict[FlavorResource, Flow]] = {}
        self._numbers: dict[str, GroupNumbers] = {}
        self._tree: Tree | None = None
        self._until: datetime | None = None

    def sample(self, snapshot: Snapshot, now: datetime) -> None:
        """Add the flows since the last sample; from now on those of this snapshot count."""
        elapsed = 0 if self._until is None else max(0, (now - self._until) // _MILLISECOND)
        for name, by_key in self._flows.items():
            for key, flow in by_key.items():
                known = self.totals.get((name, key), NO_FLOW)
                self.totals[name, key] = Flow(
                    known.borrowed + flow.borrowed * elapsed, known.lent + flow.lent * elapsed
                )
        self._until = now
        self._read(snapshot)

    def _read(self, snapshot: Snapshot) -> None:
        tree = snapshot.world.tree
        if tree is not self._tree:
            self._tree = tree
            self._flows.clear()
            self._numbers.clear()
            self.totals = {where: each for where, each in self.totals.items() if where[0] in tree}
        changed = [name for name, numbers in snapshot.numbers.items() if self._numbers.get(name) is not numbers]
        self._numbers.update((name, snapshot.numbers[name]) for name in changed)
        parents = {tree[name].parent or ROOT for name in changed if name != ROOT and name in tree}
        for parent in sorted(parents | {name for name in changed if name in tree and tree[name].is_parent}):
            with self._faults.about(Subject(GROUP, parent)):
                self._flows.update(flows_below(snapshot, parent))


def flows_below(snapshot: Snapshot, parent: str) -> Mapping[str, dict[FlavorResource, Flow]]:
    """Return what each child of `parent` borrows and lends now; only keys with a flow."""
    names = [each for each in snapshot.world.tree.children(parent) if each != SYSTEM and each in snapshot.numbers]
    found: dict[str, dict[FlavorResource, Flow]] = {name: {} for name in names}
    own = snapshot.numbers.get(parent, {})
    for key in sorted({key for name in names for key in snapshot.numbers[name]}):
        numbers = [snapshot.numbers[name].get(key, NO_NUMBERS) for name in names]
        above = own.get(key, NO_NUMBERS)
        from_above = above.runtime if parent == ROOT else above.effective_min + above.borrowed
        beside = max(0, from_above - sum(each.effective_min for each in numbers))
        borrowed = [each.borrowed for each in numbers]
        lent = _shared(max(0, sum(borrowed) - beside), [each.lendable for each in numbers])
        for name, taken, given in zip(names, borrowed, lent, strict=True):
            if taken or given:
                found[name][key] = Flow(taken, given)
    return found


def _shared(amount: Amount, idle: Sequence[Amount]) -> list[Amount]:
    """Divide `amount` in proportion to what each child leaves idle, rounded down and never more than that."""
    together = sum(idle)
    return [min(each, each * amount // together) if together else 0 for each in idle]
