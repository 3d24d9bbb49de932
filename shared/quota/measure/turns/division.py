"""The numbers with turns: each parent in which one counts is divided again, and what is below those that get less.

Nobody loses work to the turn of another: `Numbers.spared` says how much more it would have without, and may keep.

See docs/specification.md §6.11.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from shared.quota.measure.fair_share import Sibling, divide
from shared.quota.measure.group_usage import GroupNumbers, Numbers
from shared.quota.measure.inputs.world import PastUse
from shared.quota.measure.turns.holders import Turns
from shared.quota.measure.turns.levels import Level, TurnNumbers
from shared.resources import Amount, FlavorResource


def numbers_with_turns(
    before: TurnNumbers, turns: Turns, past_use: PastUse, previous: Mapping[str, GroupNumbers]
) -> Mapping[str, GroupNumbers]:
    """Return the numbers with these turns; of `previous`, each group's own mapping is taken over if it is equal."""
    levels = [level for holder in turns.holders.values() for level in holder.levels]
    if not levels:
        return before.numbers
    by_key: dict[FlavorResource, list[Level]] = {}
    for level in levels:
        by_key.setdefault(level.key, []).append(level)
    changed: dict[str, dict[FlavorResource, Numbers]] = {}
    for key, own in by_key.items():
        needs = {level.child: level.need for level in own}
        runtimes = _runtimes(before, key, own, past_use)
        for group in runtimes.keys() | needs.keys():
            found = _with_runtime(before.of(group, key), runtimes.get(group), needs.get(group, 0))
            changed.setdefault(group, {})[key] = found
    numbers = dict(before.numbers)
    for group, found_by_key in changed.items():
        whole = {**numbers.get(group, {}), **found_by_key}
        known = previous.get(group)
        numbers[group] = known if known == whole else whole
    return numbers


def _with_runtime(numbers: Numbers, runtime: Amount | None, need: Amount) -> Numbers:
    own = numbers.runtime if runtime is None else runtime
    spared = max(numbers.runtime, own, need) - own
    return replace(numbers, runtime=own, spared=spared)


def _runtimes(
    before: TurnNumbers, key: FlavorResource, levels: Iterable[Level], past_use: PastUse
) -> dict[str, Amount]:
    """Return the runtimes that differ with these turns, from root down."""
    needs = {level.parent: level for level in levels}
    index = before.tree_index
    found: dict[str, Amount] = {}
    waiting = sorted(needs, key=index.depths.__getitem__)
    for parent in waiting:
        runtime = found.get(parent, before.of(parent, key).runtime)
        siblings = siblings_with_turn(before, parent, needs.get(parent), key, past_use)
        for child, share in divide(runtime, siblings).items():
            if share != before.of(child, key).runtime:
                found[child] = share
                if child in index.children and child not in needs:
                    _insert(waiting, child, index.depths)
    return found


def _insert(waiting: list[str], parent: str, depths: Mapping[str, int]) -> None:
    """Add a parent behind all that are no deeper; the caller goes on through the list."""
    place = len(waiting)
    while depths[waiting[place - 1]] > depths[parent]:
        place -= 1
    waiting.insert(place, parent)


def siblings_with_turn(
    before: TurnNumbers, parent: str, level: Level | None, key: FlavorResource, past_use: PastUse
) -> list[Sibling]:
    """Return what the division of `parent` needs of its children. `level`: the turn there; None: one further up."""
    siblings = []
    for child in before.tree_index.children[parent]:
        numbers = before.numbers.get(child, {}).get(key)
        if numbers is not None:
            turn = level.need if level is not None and level.child == child else 0
            siblings.append(Sibling(child, _with_kept(numbers), past_use.get(child, {}).get(key, 0), turn))
    return siblings


def _with_kept(numbers: Numbers) -> Numbers:
    """Return the numbers with a floor of what is kept, within demand: no turn is at the cost of floors further down.

    p has min 1. Below it a, with min 1, waits, and b uses 1 that is not preemptible: p's floor is 1, and p keeps 2.
    """
    floor = min(numbers.kept, numbers.demand)
    return replace(numbers, guarantee=max(numbers.guarantee, floor)) if floor > numbers.floor else numbers
