"""How many workloads of each group wait for which reason. docs/specification.md §9.2.

The reason of one workload costs tens of microseconds, and 100,000 can wait: so they are counted a few milliseconds at a
time, one plan after another, and the counts of a group can be minutes old.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from shared.cluster.state.faults.register import Faults, Subject
from shared.quota.decide.decisions import Plan
from shared.quota.model.tree import Tree
from shared.quota.outlook.explain.pending_reasons import PendingReasons

ByReason = Mapping[str, int]


class WaitCounts:
    """The latest counts of each leaf; complete when every leaf was counted once."""

    def __init__(self) -> None:
        self.is_complete = False
        self._by_leaf: dict[str, ByReason] = {}

    def count(self, plan: Plan, faults: Faults) -> Iterator[None]:
        """Count the workloads that wait after this plan; yields after each one, so that other tasks can run."""
        reasons, leaves = PendingReasons.without_amounts(plan), plan.end.snapshot.leaves
        for name, leaf in sorted(leaves.items()):
            found = Counter[str]()
            for workload in (*leaf.pending, *leaf.aside):
                with faults.about(Subject(workload.kind, workload.key, workload.uid, name)):
                    waiting = reasons.why(workload)
                    if waiting is not None:
                        found[waiting.reason.value] += 1
                yield
            self._by_leaf[name] = dict(sorted(found.items()))
        self._by_leaf = {name: counts for name, counts in self._by_leaf.items() if name in leaves}
        self.is_complete = True

    def below(self, tree: Tree, group: str) -> ByReason:
        """Return the counts of the group's whole subtree."""
        found = Counter[str]()
        for leaf in tree.leaves_below(group) if tree[group].is_parent else (group,):
            found.update(self._by_leaf.get(leaf, {}))
        return dict(sorted(found.items()))
