"""Nobody goes in vain: of all victims of a cycle, those whose work still fits stay. DESIGN section 7.

What has to hold is collected first (each asker's room on each group of its path, each excess cured); a victim is given
back when, with it present again, all of that still holds. So the set that is left is minimal.
"""

import heapq
from collections.abc import Callable
from datetime import datetime

from shared.quota.decide.cycle import Asker, Cycle, Victim
from shared.quota.decide.room import Ask, GroupKey, Path
from shared.quota.measure.buckets import Place, place_in_line
from shared.quota.model.workload import WorkloadId
from shared.resources import Amount, FlavorResource

Limits = dict[GroupKey, Amount]
Importance = tuple[bool, int, datetime, Place]


class Needs:
    """What the victims of a cycle are for: charges and uses that must not be passed."""

    __slots__ = ("_charges", "_cycle", "_uses")

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._charges: Limits = {}
        self._uses: Limits = {}
        for asker in cycle.askers:
            self._room_of(asker)
        for (group, key), most in cycle.cured.items():
            self._uses[group, key] = max(most, cycle.used_after.used(group, key))

    def _room_of(self, asker: Asker) -> None:
        for key, _ in asker.ask:
            for group in asker.account.path:
                self._charges[group, key] = self._cycle.after.limit(group, key)
        for key, most in asker.bounds:
            self._charges[asker.account.name, key] = min(most, self._cycle.after.limit(asker.account.name, key))

    def hold(self, path: Path, ask: Ask) -> bool:
        """Whether all needs on this path and these keys are met as the books stand."""
        return all(self._holds(group, key) for key, _ in ask for group in path)

    def _holds(self, group: str, key: FlavorResource) -> bool:
        charge, use = self._charges.get((group, key)), self._uses.get((group, key))
        return (charge is None or self._cycle.after.charge(group, key) <= charge) and (
            use is None or self._cycle.used_after.used(group, key) <= use
        )


def give_back(cycle: Cycle) -> None:
    """Restore every victim that need not go: first who leaves its group within runtime, then the most important."""
    needs = Needs(cycle)
    offered = [(_importance(cycle, each), each) for each in cycle.victims]
    restored: set[WorkloadId] = set()
    queue = [(rank, number) for number, (rank, _) in enumerate(offered)]
    heapq.heapify(queue)
    while queue:
        rank, number = heapq.heappop(queue)
        victim = offered[number][1]
        current = _importance(cycle, victim)
        if current != rank:
            heapq.heappush(queue, (current, number))
        elif _restore_if(cycle, victim, needs):
            restored.add(victim.workload.id)
    _strike(cycle, lambda victim: victim.workload.id in restored)


def _restore_if(cycle: Cycle, victim: Victim, needs: Needs) -> bool:
    cycle.restore(victim)
    if needs.hold(victim.account.path, victim.standing.ask):
        return True
    cycle.vacate(victim)
    return False


def _importance(cycle: Cycle, victim: Victim) -> Importance:
    """Lowest first. Within runtime: its leaf's charge with it, promises to askers included, is not above runtime."""
    account, standing = victim.account, victim.standing
    beyond = any(cycle.after.over_runtime(account.name, key) + amount > 0 for key, amount in standing.ask)
    return (beyond, -standing.workload.priority, standing.since, place_in_line(standing.workload))


def _strike(cycle: Cycle, is_restored: Callable[[Victim], bool]) -> None:
    cycle.victims = [each for each in cycle.victims if not is_restored(each)]
    for asker in cycle.askers:
        asker.victims = [each for each in asker.victims if not is_restored(each)]
