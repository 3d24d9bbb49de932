"""In random worlds the accounts of a group's children add up to its own, to the last unit and millisecond."""

from datetime import timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from shared.quota.measure.accounts.amounts import Account, GroupAccount
from shared.quota.measure.inputs.world import World
from shared.quota.model.tree import SYSTEM
from shared.resources import FlavorResource
from tests.account_books import PromptBook
from tests.builders import NOW
from tests.shared.quota.measure.random_worlds import KEYS, random_job, random_world


def with_other_jobs(dice: Random, world: World, step: int) -> World:
    """Some workloads go, change, or come."""
    leaves = [name for name, group in world.tree.groups.items() if not group.is_parent]
    known = {each: job for own in world.workload_sets.values() for each, job in own.by_id.items()}
    names = [each.key.partition("/")[2] for each in known] + [f"new-{step}-{index}" for index in range(2)]
    chosen = dice.sample(names, min(4, len(names)))
    gone = [(known[each], None) for each in known if each.key.partition("/")[2] in chosen]
    return world.with_changes(
        [*gone, *((None, random_job(dice, name, leaves)) for name in chosen if dice.random() < 0.7)]
    )


def account(book: PromptBook, group: str, month: str, key: FlavorResource) -> Account:
    return book.accounts.get(group, GroupAccount()).period(month).account(key)


@pytest.mark.parametrize("seed", range(30))
def test_children_add_up_to_their_parent(seed: int) -> None:
    dice = Random(seed)
    world, now = random_world(dice), NOW - timedelta(minutes=20)
    book = PromptBook(ZoneInfo("Europe/Berlin"), keep=36)
    book.start({}, ())
    for step in range(40):
        book.after(world, now)
        now += timedelta(milliseconds=dice.randint(1, 90_000))
        world = with_other_jobs(dice, world, step)
    book.after(world, now + timedelta(minutes=2))
    months = {month for each in book.accounts.values() for month in each.periods}
    for name in [
        name for name, group in world.tree.groups.items() if group.is_parent and world.tree.reaches_root(name)
    ]:
        children = [child for child in world.tree.children(name) if child != SYSTEM]
        for month in months:
            for key in KEYS:
                own, below = account(book, name, month, key), [account(book, each, month, key) for each in children]
                assert own.used == sum(each.used for each in below)
                assert own.lost == sum(each.lost for each in below)
                assert sum(each.lent for each in below) <= sum(each.borrowed for each in below)
                assert all(0 <= each.borrowed <= each.used for each in below)
                assert all(each.of_parent >= 0 for each in below)
                for child, each in zip(children, below, strict=True):
                    assert each.lent == sum(other.lenders.get(child, 0) for other in below)
    for account_of_leaf in book.accounts.values():
        for period in account_of_leaf.periods.values():
            for key in period.keys if period.namespaces else ():
                assert sum(each.get(key, 0) for each in period.namespaces.values()) == period.account(key).used
