"""Higher priority takes the place of lower in a leaf that must not grow. docs/specification.md §7.7.

Judged after all entitled and opportunistic workloads, and after Strict mode: the leaf's use grows on no key.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule, WaitReason
from shared.quota.decide.queue.fair_sharing import QueueHead
from shared.quota.decide.queue.leaf_queue import Decided, LeafQueue, evaluate
from shared.quota.decide.reclaim.standing_claims import StandingClaims
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.state.eviction_plan import EvictionPlan, Preemptor, Victim
from shared.quota.decide.state.flavor_assignment import Assignments, FlavorAssignment, entitled_candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.smallest_requests import SmallestRequests, could_fit
from shared.quota.decide.state.usage import GroupPath
from shared.quota.decide.waits import Waits
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.tree import ROOT, Preemption
from shared.quota.model.workload import EvictionReason, Workload
from shared.resources import Amount, FlavorResource


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
            queue = LeafQueue(leaf_usage, self.inputs.queue(name), decided, self._head)
            while (head := queue.next_head()) is not None:
                queue.wait(head.workload)

    def _leaves(self) -> set[str]:
        """Leaves in which a swap might be planned, or a workload waits for evictions under way instead of a swap."""
        cache = self.inputs.cache
        swapping = cache.swapping
        found = {name for name in tuple(cache.may_swap) if self._could_swap(name)}
        found |= self.usage.touched.keys() & swapping
        if self._is_evicting or cache.evicting:
            found.update(self._may_come_anyway())
        return found

    @property
    def _is_evicting(self) -> bool:
        return bool(self.evictions.victims or self.evictions.forced)

    def _may_come_anyway(self) -> Iterator[str]:
        """Of the leaves in which a swap might be planned, those in which something may fit once all evictions ended.

        A group in which and below which no eviction ends can take more only of what its parent can take more of.
        """
        cache, leaves = self.inputs.cache, self.usage.snapshot.leaves
        tree, relieved = cache.tree, self._relieved()
        every = tuple(self.usage.snapshot.numbers[ROOT])
        groups = [(ROOT, every)]
        while groups:
            group, keys = groups.pop()
            requests, path = tree.requests.get(group), tree.paths.get(group, ())
            if not requests:
                continue
            if group in leaves:
                if could_fit(requests, partial(self._available_to, leaves[group])):
                    yield group
                continue
            below = tree.children.get(group, set())
            children, is_relieved = (below & cache.swapping) | below.difference(leaves), group in relieved
            if children and (is_relieved or self._could_fit(group, requests)):
                more = self._keys_with_more(path, every if is_relieved else keys)
                groups.extend((child, more) for child in children if more or is_relieved)

    def _relieved(self) -> set[str]:
        """Return the groups in which evictions end, and those above them."""
        usage, leaves = self.usage, self.usage.snapshot.leaves
        groups = {
            group
            for (group, key), charge in usage.planned.changed.items()
            if charge != usage.current.charge(group, key)
        }
        return {above for group in groups for above in (leaves[group].path if group in leaves else (group,))}

    def _keys_with_more(self, path: GroupPath, keys: Iterable[FlavorResource]) -> tuple[FlavorResource, ...]:
        """Of `keys`, those of which the group at the start of `path` can take more once all evictions have ended."""
        current, planned = self.usage.current, self.usage.planned
        return tuple([key for key in keys if planned.available(path, key) > current.available(path, key)])

    def _could_fit(self, group: str, requests: SmallestRequests) -> bool:
        """Whether something could fit in what is available below the group; leaves that were changed do not count."""
        tree, order = self.inputs.cache.tree, self.inputs.cache.orders.get(group)
        if order is not None and order.until is not None and order.until <= self.inputs.now:
            order = None
        for path in tree.bounds(group):
            available = partial(self.usage.planned.available, path)
            fits = order.could_fit(available) if order is not None else None
            if fits is None:
                fits = tree.has_guarantee_below(group) or could_fit(requests, available)
            if not fits:
                return False
        return True

    def _available_to(self, leaf: LeafSnapshot, key: FlavorResource) -> Amount:
        """Not less than what is available to that leaf once all evictions have ended."""
        kept = self.usage.snapshot.numbers[leaf.group.name].get(key, NO_NUMBERS).guarantee
        return self.usage.planned.available(leaf.path[1:], key) + kept

    def _could_swap(self, name: str) -> bool:
        cache = self.inputs.cache
        could_swap = cache.leaves[name].could_swap
        if could_swap is None:
            leaf_usage, classes = self.usage.leaf(name), self.inputs.queue(name)
            examples = dict(zip(classes.kinds, leaf_usage.leaf.pending, strict=True))
            could_swap = any(
                _may_be_worth_it(leaf_usage, example, each.assignments)
                for each, example in examples.items()
                if each.assignments is not None
            )
            cache.note_swap(name, could_swap=could_swap)
        return could_swap

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
        return QueueHead(workload, (), leaf_usage) if is_planned else None

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
            leaves = map(self.usage.snapshot.leaves.__getitem__, self.inputs.cache.evicting)
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
        if not leaf_usage.could_preempt(quantities, workload.priority):
            return False
        bounds = tuple((key, usage.planned.charge(leaf_usage.name, key)) for key, _ in quantities)
        preemptor = Preemptor(workload, leaf_usage, assignment.flavors, quantities, bounds=bounds)
        usage.reserve(leaf_usage, quantities, workload)
        if self._make_place(preemptor) and usage.planned.keeps_limits(leaf_usage.path, quantities):
            self.evictions.commit(preemptor)
            self.waits.reasons[workload.id] = WaitReason.WAITING_FOR_EVICTIONS
            return True
        for victim in preemptor.victims:
            usage.restore(leaf_usage, victim.running)
        usage.release(leaf_usage, quantities, workload)
        return False

    def _make_place(self, preemptor: Preemptor) -> bool:
        """Vacate lower-priority work, least important first, until the leaf's use is within the preemptor's bounds."""
        search, leaf_usage = VictimSearch(self.usage, self.delays), preemptor.leaf_usage
        reason, rule = EvictionReason.PREEMPTED, EvictionRule.SWAP
        for key, most in preemptor.bounds:
            while self.usage.planned.charge(leaf_usage.name, key) > most:
                running = search.least_important(leaf_usage, key)
                if running is None or running.workload.priority >= preemptor.workload.priority:
                    self.waits.wake(*search.spared_until)
                    return False
                preemptor.victims.append(Victim(running, leaf_usage, reason, rule, leaf_usage.name, key, preemptor))
                self.usage.vacate(leaf_usage, running)
        return True


def _may_be_worth_it(leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> bool:
    """Return whether the workload is entitled nowhere, and enough of lower priority runs to replace."""
    if not any(leaf_usage.could_preempt(each.quantities, workload.priority) for each in assignments):
        return False
    return not any(
        all(
            leaf_usage.may_hold(option.quantities, workload) and leaf_usage.is_entitled(option.quantities, workload)
            for option in each.options
        )
        for each in assignments
    )
