"""Random overrides and windows in closed worlds: numbers and stop policies that change while work runs."""

from dataclasses import replace
from datetime import timedelta

from shared.quota.model.tree import ROOT, SYSTEM, Entry, Group, Override, StopPolicy, Tree, Window
from tests.prove.random_draw import Dice
from tests.prove.worlds.windows import random_window
from tests.prove.worlds.world import STEP, ClosedWorld
from tests.shared.quota.reference.inputs import EPOCH


def with_overrides(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; in some worlds, some groups have overrides, windows or both. Drawn last: the rest stays."""
    if not dice.chance(15):
        return world
    names = [name for name in sorted(world.tree.groups) if name not in (ROOT, SYSTEM)]
    overrides = {name: _overrides(dice, world.tree[name]) for name in names if dice.chance(40)}
    windows = {name: _windows(dice, world.tree[name]) for name in names if dice.chance(30)}

    def changed(group: Group) -> Group:
        return replace(group, overrides=overrides.get(group.name, ()), windows=windows.get(group.name, ()))

    edits = tuple(replace(each, group=changed(each.group)) for each in world.edits)
    return replace(world, tree=Tree.of(map(changed, world.tree.groups.values())), edits=edits)


def _overrides(dice: Dice, group: Group) -> tuple[Override, ...]:
    start = EPOCH + STEP * dice.between(0, 6)
    end = start + STEP * dice.between(1, 6)
    first = replace(Override(start, end, *_saying(dice, group)), notice_before=_notice_before(dice))
    if dice.chance(60):
        return (first,)
    again = end + STEP * dice.between(0, 3)
    return (first, Override(again, again + STEP * dice.between(1, 4), *_saying(dice, group)))


def _windows(dice: Dice, group: Group) -> tuple[Window, ...]:
    drawn = (random_window(dice, *_saying(dice, group)) for _ in range(1 + dice.chance(40)))
    return tuple(replace(each, notice_before=_notice_before(dice)) for each in drawn)


def _notice_before(dice: Dice) -> timedelta:
    return dice.one_of((0, 0, 1, 3, 6)) * STEP


def _saying(dice: Dice, group: Group) -> tuple[tuple[Entry, ...], StopPolicy | None]:
    """Other mins and maxima of what the group covers, never a sum that its parent lacks; or another stop policy."""
    if dice.chance(20):
        return (), dice.one_of((StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN, StopPolicy.CLOSE))
    return tuple(_changed(dice, entry) for entry in group.quotas), None


def _changed(dice: Dice, entry: Entry) -> Entry:
    low = {name: dice.between(0, amount) for name, amount in entry.min.items() if dice.chance(50)}
    high = {
        name: max(entry.min.get(name, 0), dice.between(0, 2 * amount))
        for name, amount in entry.max.items()
        if dice.chance(50)
    }
    return Entry(entry.flavor, min=low, max=high)
