"""A parent's account is the sum of its children's, and of what it has beside them.

Each group's account is a write of its own, so a leader can end between those of a parent and its children. What a
parent has beside its children does not change with use, but with edits of the tree alone: it is what groups used there
that were moved away or deleted, less what groups that were moved in had used before. So with it the stored accounts of
the children give the parent's, whenever each of them was written.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from hashlib import sha256
from typing import Final, NamedTuple

from shared.quota.measure.accounts.amounts import Account, Accounts, GroupAccount, PeriodAccount
from shared.quota.model.tree import ROOT, Tree
from shared.resources import FlavorResource

_DIGITS: Final = 16

Periods = Mapping[str, Mapping[FlavorResource, Account]]
"""month → key → used and lost; amounts below 0 are of groups that were moved in."""


class Beside(NamedTuple):
    """What a parent's account has beside those of its children. `children`: the name of the set of these."""

    children: str
    periods: Periods


def name_of_children(tree: Tree, parent: str) -> str:
    """Return a name for the set of the parent's children: another one after a child came or went."""
    uids = sorted(tree[name].uid for name in tree.children(parent))
    return sha256("\n".join(uids).encode()).hexdigest()[:_DIGITS]


def beside_children(tree: Tree, accounts: Accounts, parent: str) -> Beside:
    """Return what the parent has beside its children, of accounts that are all added up until the same moment."""
    own = accounts.get(parent, GroupAccount())
    below = _sums(_periods_of(accounts, tree.children(parent)), _oldest(own))
    found: dict[str, dict[FlavorResource, Account]] = {}
    for month, key in _both(below, own.periods):
        mine, theirs = _account(own, month, key), below.get(month, {}).get(key, Account())
        if (mine.used, mine.lost) != (theirs.used, theirs.lost):
            found.setdefault(month, {})[key] = Account(used=mine.used - theirs.used, lost=mine.lost - theirs.lost)
    return Beside(name_of_children(tree, parent), found)


def with_parents(tree: Tree, accounts: Accounts, beside: Mapping[str, Beside]) -> dict[str, GroupAccount]:
    """Return stored accounts with each parent's as the sum of its children's and of what it has beside them.

    A parent of which the latter is not known, or was with other children, keeps its account as it is stored.
    """
    found = dict(accounts)
    for name in reversed([*tree.subtree(ROOT)]):
        known = beside.get(name)
        if known is not None and name in tree and known.children == name_of_children(tree, name):
            periods = _sums([*_periods_of(found, tree.children(name)), known.periods], "")
            found[name] = _with_sums(found.get(name, GroupAccount()), periods)
    return found


def _with_sums(stored: GroupAccount, sums: Periods) -> GroupAccount:
    own, oldest = deepcopy(stored), _oldest(stored)
    for month, key in _both(sums, own.periods):
        total, mine = sums.get(month, {}).get(key, Account()), _account(own, month, key)
        if month >= oldest and (total.used, total.lost) != (mine.used, mine.lost):
            written = own.period(month).account(key)
            written.used, written.lost = total.used, total.lost
            written.keep_borrowed_within_used()
    return own


def _oldest(own: GroupAccount) -> str:
    """Return the first month of the account: of those before it nothing is kept, though children might have them."""
    return min(own.periods, default="")


def _periods_of(accounts: Accounts, names: Iterable[str]) -> Iterator[Periods]:
    for name in names:
        if name in accounts:
            yield {month: period.keys for month, period in accounts[name].periods.items()}


def _sums(all_periods: Iterable[Periods], oldest: str) -> dict[str, dict[FlavorResource, Account]]:
    found: dict[str, dict[FlavorResource, Account]] = {}
    for periods in all_periods:
        for month, keys in periods.items():
            for key, each in keys.items() if month >= oldest else ():
                found.setdefault(month, {}).setdefault(key, Account()).add(Account(used=each.used, lost=each.lost))
    return found


def _both(sums: Periods, periods: Mapping[str, PeriodAccount]) -> list[tuple[str, FlavorResource]]:
    """Return the months and keys that either has."""
    found = {(month, key) for month, keys in sums.items() for key in keys}
    found.update((month, key) for month, period in periods.items() for key in period.keys)
    return sorted(found)


def _account(own: GroupAccount, month: str, key: FlavorResource) -> Account:
    period = own.periods.get(month)
    return Account() if period is None else period.keys.get(key, Account())
