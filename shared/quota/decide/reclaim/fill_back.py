"""No eviction without effect: of all victims of a cycle, those that still fit stay. docs/specification.md §7.5.

What must hold is collected first (each preemptor's room on its path, each limit that was exceeded); a victim is filled
back when, with it present again, all of that still holds. So the set that is left is minimal.
"""

import heapq
from collections.abc import Iterable, Set

from shared.quota.decide.recycling_order import Importance, freed_by
from shared.quota.decide.state.eviction_plan import EvictionPlan, Preemptor, Victim
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import GroupKey, GroupPath, Quantities
from shared.quota.measure.static.pod_set_choices import Counted
from shared.quota.model.workload import WorkloadId
from shared.resources import Amount, FlavorResource

LimitByKey = dict[GroupKey, Amount]


class Needs:
    """Knows what the victims of a cycle are for: the charges and uses that must not be passed."""

    __slots__ = ("_charges", "_usage", "_uses")

    def __init__(self, usage: RoundUsage, evictions: EvictionPlan) -> None:
        self._usage = usage
        self._charges: LimitByKey = {}
        self._uses: LimitByKey = {}
        for preemptor in evictions.preemptors:
            self._room_of(preemptor)
        for (group, key), most in evictions.most_used.items():
            self._uses[group, key] = max(most, usage.used_planned(group, key))

    def _room_of(self, preemptor: Preemptor) -> None:
        for key, _ in preemptor.quantities:
            for group in preemptor.leaf_usage.path:
                self._charges[group, key] = self._usage.planned.limit(group, key)
        for key, most in preemptor.bounds:
            self._charges[preemptor.leaf_usage.name, key] = min(
                most, self._usage.planned.limit(preemptor.leaf_usage.name, key)
            )

    def hold(self, path: GroupPath, quantities: Quantities) -> bool:
        """Return whether all needs on this path and these keys are met in the current usage."""
        return all(self._holds(group, key) for key, _ in quantities for group in path)

    def _holds(self, group: str, key: FlavorResource) -> bool:
        charge, use = self._charges.get((group, key)), self._uses.get((group, key))
        return (charge is None or self._usage.planned.charge(group, key) <= charge) and (
            use is None or self._usage.used_planned(group, key) <= use
        )


def fill_back(usage: RoundUsage, evictions: EvictionPlan) -> None:
    """Restore every victim that need not go: first who leaves its group within runtime, then the most important.

    Uses only grow meanwhile: of victims that are alike, none is restored once one was not.
    """
    needs = Needs(usage, evictions)
    restored: set[WorkloadId] = set()
    alike = _alike(evictions.victims)
    queue = [(_rank(usage, each[-1]), number) for number, each in enumerate(alike)]
    heapq.heapify(queue)
    while queue:
        rank, number = heapq.heappop(queue)
        victim = alike[number][-1]
        current = _rank(usage, victim)
        if current == rank:
            if not _restore_if(usage, victim, needs):
                continue
            restored.add(victim.id)
            alike[number].pop()
        if alike[number]:
            heapq.heappush(queue, (_rank(usage, alike[number][-1]), number))
    if restored:
        _keep_running(evictions, restored)


def _alike(victims: Iterable[Victim]) -> list[list[Victim]]:
    """Return the victims of one leaf that request and free the same together, the most important last."""
    found: dict[tuple[str, Quantities, Counted], list[Victim]] = {}
    for victim in victims:
        running = victim.running
        found.setdefault((victim.leaf_usage.name, running.quantities, freed_by(running)), []).append(victim)
    return [sorted(each, key=lambda victim: victim.running.importance, reverse=True) for each in found.values()]


def _restore_if(usage: RoundUsage, victim: Victim, needs: Needs) -> bool:
    usage.restore(victim.leaf_usage, victim.running)
    if needs.hold(victim.leaf_usage.path, victim.running.quantities):
        return True
    usage.evict(victim.leaf_usage, victim.running)
    return False


def _rank(usage: RoundUsage, victim: Victim) -> tuple[bool, Importance]:
    """Lowest first. Within runtime: the leaf's charge with it and with its preemptors is not above runtime."""
    leaf_usage, running = victim.leaf_usage, victim.running
    beyond = any(usage.planned.over_runtime(leaf_usage.name, key) + amount > 0 for key, amount in running.quantities)
    return (beyond, running.importance)


def _keep_running(evictions: EvictionPlan, restored: Set[WorkloadId]) -> None:
    """Take the restored victims out of all plans."""
    evictions.victims = [each for each in evictions.victims if each.id not in restored]
    for preemptor in evictions.preemptors:
        preemptor.victims = [each for each in preemptor.victims if each.id not in restored]
