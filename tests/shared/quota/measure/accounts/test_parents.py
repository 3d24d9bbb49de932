"""A parent's account is the sum of its children's and of what it has beside them, whichever of them was written."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from random import Random

import pytest

from shared.api.quotagroup import BesideChildrenStatus, QuotaGroupStatus
from shared.quota.measure.accounts.amounts import Account, GroupAccount, PeriodAccount
from shared.quota.measure.accounts.parents import Beside, beside_children, name_of_children, with_parents
from shared.quota.measure.accounts.written_accounts import read_accounts, write_account, write_beside
from shared.quota.measure.inputs.world import World
from shared.quota.model.tree import Tree
from shared.resources import Amount
from tests.account_books import PromptBook
from tests.builders import after, running
from tests.trees import KEY, tree

MONTH = "2026-01"


def drawn(text: str) -> Tree:
    found = tree(text)
    for name in found.groups:
        found = found.with_group(replace(found[name], uid=f"uid-{name}"))
    return found


def used(amount: Amount, lost: Amount = 0, month: str = MONTH, borrowed: Amount = 0) -> GroupAccount:
    return GroupAccount(1, {month: PeriodAccount({KEY: Account(amount, borrowed, lost=lost)})})


def amounts(accounts: dict[str, GroupAccount]) -> dict[str, tuple[Amount, Amount]]:
    found = {name: each.period(MONTH).account(KEY) for name, each in accounts.items()}
    return {name: (each.used, each.lost) for name, each in found.items()}


TREE = "root 16\n  p 8\n    a 4\n    b 4\n  c 8"
BOOK = {"root": used(100, 7), "p": used(70, 7), "a": used(20, 2), "b": used(30, 3), "c": used(30)}
"""p has 20 beside a and b, of a group that is gone."""


def test_what_a_parent_has_beside_its_children_gives_its_account_with_later_and_earlier_ones_of_theirs() -> None:
    found = drawn(TREE)
    beside = {name: beside_children(found, BOOK, name) for name in ("root", "p")}
    assert beside["p"].periods == {MONTH: {KEY: Account(20, lost=2)}}
    assert beside["root"].periods == {}
    assert amounts(with_parents(found, BOOK, beside)) == amounts(BOOK)
    later = {**BOOK, "a": used(25, 2), "c": used(10)}
    assert amounts(with_parents(found, later, beside)) == amounts({**later, "p": used(75, 7), "root": used(85, 7)})


def test_other_children_than_those_that_were_written_leave_the_account_as_it_is_stored() -> None:
    found = drawn(TREE)
    beside = {"p": beside_children(found, BOOK, "p")}
    moved = found.with_group(replace(found["c"], parent="p"))
    replaced = found.with_group(replace(found["b"], uid="another"))
    for other in (moved, replaced, found.without("a")):
        assert with_parents(other, {**BOOK, "a": used(99)}, beside)["p"] == BOOK["p"]
    assert with_parents(found, {**BOOK, "a": used(99)}, {"p": Beside("", {})})["p"] == BOOK["p"]


def test_what_a_group_used_before_it_was_moved_in_is_not_its_new_parents() -> None:
    found = drawn(TREE)
    moved = found.with_group(replace(found["c"], parent="p"))
    beside = beside_children(moved, BOOK, "p")
    assert beside.periods == {MONTH: {KEY: Account(-10, lost=2)}}
    status = write_beside(beside)
    assert status.accounts[0].flavors[0].used == {"gpu": "-10"}
    assert status.children == name_of_children(moved, "p")


def test_months_that_a_parent_no_longer_keeps_do_not_come_back() -> None:
    found = drawn("root 16\n  a 4")
    leaf = used(5)
    leaf.periods["2025-01"] = PeriodAccount({KEY: Account(9)})
    beside = {"root": beside_children(found, {"root": used(5), "a": leaf}, "root")}
    leaf.periods["2026-02"] = PeriodAccount({KEY: Account(3)})
    account = with_parents(found, {"root": used(5), "a": leaf}, beside)["root"]
    assert {month: each.account(KEY).used for month, each in account.periods.items()} == {MONTH: 5, "2026-02": 3}


def test_an_account_that_was_ahead_of_its_children_borrowed_no_more_than_it_used() -> None:
    found, ahead = drawn("root 16\n  p 8\n    a 4"), used(50, borrowed=40)
    ahead.period(MONTH).account(KEY).lenders = {"c": 15, "d": 10}
    stored = {"p": ahead, "a": used(20)}
    account = with_parents(found, stored, {"p": Beside(name_of_children(found, "p"), {})})["p"]
    assert account.period(MONTH).account(KEY) == Account(20, borrowed=20, lenders={"c": 15, "d": 5})


@pytest.mark.parametrize("seed", range(12))
def test_children_add_up_to_root_though_leaders_end_between_writes_and_what_ended_is_gone(seed: int) -> None:
    """Accounts are stored one by one, leaders are killed, ended Jobs are deleted, and groups are moved."""
    dice = Random(seed)
    found = World.of(drawn(TREE))
    stored: dict[str, QuotaGroupStatus] = {}
    book = PromptBook(UTC, keep=3)
    book.start({}, ())
    for second in range(0, 2000, 7):
        now = after(second)
        if dice.random() < 0.04:
            book = PromptBook(UTC, keep=3)
            book.after(found, now)
            book.start(read_accounts(found.tree, stored), ())
        is_edited = dice.random() < 0.02
        if is_edited:
            group = found.tree[dice.choice("abc")]
            found = replace(found, tree=found.tree.with_group(replace(group, parent=dice.choice(["root", "p"]))))
        found = with_other_jobs(dice, found, second)
        book.after(found, now)
        for name in found.tree.groups:
            if is_edited or dice.random() < 0.5:
                stored[name] = written(book, name)
        assert_sums(read_accounts(found.tree, stored))
        assert_sums(book.accounts)
    assert book.accounts["root"].period(MONTH).account(KEY).used > 0


def with_other_jobs(dice: Random, found: World, second: int) -> World:
    """Some end, and are deleted at once; some start."""
    known = [each for own in found.workload_sets.values() for each in own.by_id.values()]
    gone = [each for each in known if dice.random() < 0.2]
    new = [running(dice.choice("abc"), dice.randint(1, 3), f"x{second}", since=after(second - dice.random() * 5))]
    return found.with_changes(
        [*((each, None) for each in gone), *((None, each) for each in new if dice.random() < 0.4)]
    )


def written(book: PromptBook, name: str) -> QuotaGroupStatus:
    periods, until = write_account(book.accounts.get(name, GroupAccount()))
    beside = book.beside(name)
    kept = BesideChildrenStatus() if beside is None else write_beside(beside)
    return QuotaGroupStatus(accounts=periods, accounted_until=until, beside_children=kept)


def assert_sums(accounts: Mapping[str, GroupAccount]) -> None:
    known = {name: each.period(MONTH).account(KEY) for name, each in accounts.items()}
    leaves = [known.get(name, Account()) for name in "abc"]
    root = known.get("root", Account())
    assert (root.used, root.lost) == (sum(each.used for each in leaves), sum(each.lost for each in leaves))
    assert all(0 <= each.borrowed <= each.used for each in known.values())
