"""Counts the workloads of a subtree: pending, admitted, ready."""

from dataclasses import dataclass, field

from shared.api.quotagroup import WorkloadCounts
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot

_NO_COUNTS = WorkloadCounts()


@dataclass(slots=True)
class Counts:
    """How many workloads each leaf has; counted once per state of a leaf."""

    _known: dict[str, tuple[LeafSnapshot, WorkloadCounts]] = field(default_factory=dict)

    def below(self, snapshot: Snapshot, group: str) -> WorkloadCounts:
        """Return the workloads of the group's whole subtree."""
        tree = snapshot.world.tree
        leaves = tree.leaves_below(group) if tree[group].is_parent else (group,)
        each = [self._of_leaf(snapshot, leaf) for leaf in leaves]
        return WorkloadCounts(
            pending=sum(one.pending for one in each),
            admitted=sum(one.admitted for one in each),
            ready=sum(one.ready for one in each),
        )

    def _of_leaf(self, snapshot: Snapshot, name: str) -> WorkloadCounts:
        leaf = snapshot.leaves.get(name)
        if leaf is None:
            return _NO_COUNTS
        known = self._known.get(name)
        if known is None or known[0] is not leaf:
            ready = sum(1 for each in leaf.admitted if each.admission is not None and each.admission.ready)
            admitted = len(leaf.admitted) + len(leaf.evicting)
            known = self._known[name] = (leaf, WorkloadCounts(len(leaf.pending) + len(leaf.aside), admitted, ready))
        return known[1]
