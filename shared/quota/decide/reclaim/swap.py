"""Higher priority takes the place of lower in a leaf that must not grow. docs/specification.md §7.7.

Judged after all entitled and opportunistic workloads, and after Strict mode: the leaf's use grows on no key.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule, WaitReason
from shared.quota.decide.queue.fair_sharing import QueueHead
from shared.quota.decide.queue.leaf_queue import Decided, LeafQueue, evaluate
from shared.quota.decide.reclaim.standing_claims import StandingClaims
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.state.cycle_cache import Sort
from shared.quota.decide.state.eviction_plan import EvictionPlan, Preemptor, Victim
from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, entitled_candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.waits import Waits
from shared.quota.model.tree import ROOT, Preemption
from shared.quota.model.workload import EvictionReason, Workload


@dataclass(frozen=True, slots=True)
class Swaps:
    """The swaps of one cycle: changes the usage, the eviction plan, and what is said of waits."""

    inputs: RoundInput
    block: AdmissionBlock
    claims: StandingClaims
    delays: EvictionDelays
    usage: RoundUsage
    evictions: EvictionPlan
    waits: Waits
    _waiting: dict[timedelta, bool] = field(default_factory=dict, init=False)
    """claimTimeout -> whether an eviction under way has not taken that long yet."""

    def plan(self) -> None:
        """Try a swap for each workload that waits, is entitled nowhere, and has lower-priority ones in its leaf."""
        decided = Decided(self.inputs.now, self.usage.started, self.waits.reasons, self.claims.open)
        for name in sorted(self._leaves()):
            leaf_usage = self.usage.leaf(name)
            if self.block.holds(leaf_usage):
                continue
            queue = LeafQueue(leaf_usage, self.inputs.classes(name), decided, self._head)
            while (head := queue.next_head()) is not None:
                queue.wait(head.workload)

    def _leaves(self) -> set[str]:
        """Return the leaves in which a swap might be planned, or a workload waits for evictions under way instead."""
        swapping, known = self.inputs.cache.of(Sort.SWAPPING), self.inputs.cache.leaves
        found = {name for name in swapping if known[name].could_swap or self.usage.is_touched(name)}
        if self._is_evicting or self.inputs.cache.of(Sort.EVICTING):
            found.update(self._may_come_anyway(swapping))
        return found

    @property
    def _is_evicting(self) -> bool:
        return bool(self.evictions.victims or self.evictions.forced)

    def _may_come_anyway(self, swapping: Iterable[str]) -> Iterator[str]:
        """Yield those of these leaves to which more of something is available once all evictions have ended."""
        usage, leaves = self.usage, self.usage.snapshot.leaves
        keys = tuple(usage.snapshot.numbers[ROOT])
        relieved = {
            group
            for (group, key), charge in usage.planned.changed.items()
            if charge != usage.current.charge(group, key)
        }
        more_below: dict[str, bool] = {}
        for name in swapping:
            path = leaves[name].path
            if path[1] not in more_below:
                more_below[path[1]] = any(
                    usage.planned.available(path[1:], key) > usage.current.available(path[1:], key) for key in keys
                )
            if name in relieved or more_below[path[1]]:
                yield name

    def _head(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> QueueHead | None:
        """Return the workload if a swap was planned for it: it is entitled nowhere, and some assignment allows it."""
        if workload.priority <= leaf_usage.leaf.admitted[-1].priority:
            return None
        may_not_borrow = self.inputs.taken_over.may_not_borrow
        if entitled_candidate(evaluate(self.usage, may_not_borrow, leaf_usage, workload, assignments)) is not None:
            return None
        if any(self._comes_anyway(leaf_usage, workload, assignment) for assignment in assignments):
            self.waits.reasons[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
            return None
        is_planned = any(self._plan_one(leaf_usage, workload, assignment) for assignment in assignments)
        return QueueHead(workload, (), leaf_usage.path, beyond_min=False) if is_planned else None

    def _comes_anyway(self, leaf_usage: LeafUsage, workload: Workload, assignment: FlavorAssignment) -> bool:
        """Return whether evictions under way, this cycle's included, free the room, so that nobody need go for it.

        One that takes longer than claimTimeout is not waited for: a PodDisruptionBudget may hold it indefinitely.
        """
        usage, quantities = self.usage, assignment.quantities
        if usage.current.fits(leaf_usage.path, quantities) or not usage.planned.fits(leaf_usage.path, quantities):
            return False
        is_soon = self._waits_for_evictions(leaf_usage.leaf.reclaim.claim_timeout) or self._is_evicting
        return is_soon and leaf_usage.may_hold(quantities, workload)

    def _waits_for_evictions(self, patience: timedelta) -> bool:
        """Return whether an eviction under way has not taken that long yet, and plan again when one has."""
        found = self._waiting.get(patience)
        if found is None:
            leaves = map(self.usage.snapshot.leaves.__getitem__, self.inputs.cache.of(Sort.EVICTING))
            began = (each.eviction.at for leaf in leaves for each in leaf.evicting if each.eviction is not None)
            ends = [later(at, patience) for at in began]
            self.waits.wake(*ends)
            found = self._waiting[patience] = any(end > self.usage.now for end in ends)
        return found

    def _plan_one(self, leaf_usage: LeafUsage, workload: Workload, assignment: FlavorAssignment) -> bool:
        """Plan to replace strictly lower-priority preemptible workloads of this leaf in these flavors, if possible."""
        usage, quantities = self.usage, assignment.quantities
        if leaf_usage.leaf.group.preemption is Preemption.NEVER or not quantities:
            return False
        if any(leaf_usage.claimed.get(key, 0) for key, _ in quantities):
            return False
        if not leaf_usage.may_hold(quantities, workload):
            return False
        if not leaf_usage.running.could_preempt(quantities, workload.priority):
            return False
        bounds = tuple((key, usage.planned.charge(leaf_usage.name, key)) for key, _ in quantities)
        preemptor = Preemptor(workload, leaf_usage, assignment.flavors, quantities, bounds=bounds)
        usage.reserve(leaf_usage, quantities, workload)
        if self._make_place(preemptor) and usage.planned.keeps_limits(leaf_usage.path, quantities):
            self.evictions.commit(preemptor)
            self.waits.reasons[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
            return True
        usage.restore(leaf_usage, *(each.running for each in preemptor.victims))
        usage.release(leaf_usage, quantities, workload)
        return False

    def _make_place(self, preemptor: Preemptor) -> bool:
        """Evict lower-priority work, least important first, until the leaf's use is within the preemptor's bounds."""
        search, leaf_usage = VictimSearch(self.usage, self.delays), preemptor.leaf_usage
        reason, rule = EvictionReason.PREEMPTED, EvictionRule.SWAP
        for key, most in preemptor.bounds:
            while (beyond := self.usage.planned.charge(leaf_usage.name, key) - most) > 0:
                found = search.less_important(leaf_usage, preemptor.workload.priority, key, beyond)
                if not found:
                    self.waits.wake(*search.spared_until)
                    return False
                preemptor.victims.extend(
                    Victim(each, leaf_usage, reason, rule, leaf_usage.name, key, preemptor) for each in found
                )
                self.usage.evict(leaf_usage, *found)
        return True
