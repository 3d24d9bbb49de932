"""What an account says: per group, month and key, in whole base units times milliseconds.

See docs/specification.md §9.7.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from shared.quota.measure.accounts.run_times import NO_RUN_TIMES, LeafRunTimes
from shared.quota.measure.largest import largest_first
from shared.resources import Amount, FlavorResource

MAX_NAMESPACES: Final = 200
"""How many namespaces of a month are written one by one; in memory all are, since the first need not be the largest."""
MAX_LENDERS: Final = 20
"""How many lenders of a key are written one by one."""
KEPT_LENDERS: Final = 100
"""How many lenders of a key are kept in memory one by one: all would be the square of the siblings."""
OTHERS: Final = ""
"""Stands for the namespaces, or the lenders, that do not stand one by one; none has this name."""


@dataclass(slots=True)
class Account:
    """One key's account. `used` = within min + `borrowed`; `lost` is the part of used that evictions made useless."""

    used: Amount = 0
    borrowed: Amount = 0
    lent: Amount = 0
    lost: Amount = 0
    lenders: dict[str, Amount] = field(default_factory=dict)
    """Sibling → the part of `borrowed` that it lent; what is left of `borrowed` the parent had."""

    @property
    def within_min(self) -> Amount:
        """What was used within min."""
        return self.used - self.borrowed

    def add(self, other: "Account") -> None:
        """Add the other's amounts."""
        self.used += other.used
        self.borrowed += other.borrowed
        self.lent += other.lent
        self.lost += other.lost
        for name, amount in other.lenders.items():
            self.lenders[name] = self.lenders.get(name, 0) + amount

    @property
    def of_parent(self) -> Amount:
        """The part of `borrowed` that no sibling lent."""
        return self.borrowed - sum(self.lenders.values())

    def keep_borrowed_within_used(self) -> None:
        """Reduce what was borrowed to what was used, and what the lenders had of it likewise, in the order of names."""
        self.borrowed = left = max(0, min(self.borrowed, self.used))
        for name in sorted(self.lenders):
            self.lenders[name] = min(self.lenders[name], left)
            left -= self.lenders[name]

    def largest_lenders(self, most: int) -> dict[str, Amount]:
        """Return what so many lenders lent, those that lent most, and all others as OTHERS."""
        if len(self.lenders) <= most:
            return dict(self.lenders)
        named = sorted(self.lenders.keys() - {OTHERS}, key=lambda name: (-self.lenders[name], name))
        found = {name: self.lenders[name] for name in named[:most]}
        return {**found, OTHERS: sum(self.lenders.values()) - sum(found.values())}


@dataclass(slots=True)
class PeriodAccount:
    """One group's account of one month; of a leaf also by namespace."""

    keys: dict[FlavorResource, Account] = field(default_factory=dict)
    namespaces: dict[str, dict[FlavorResource, Amount]] = field(default_factory=dict)
    """namespace -> key -> used; OTHERS has the rest of what was written before this leader."""

    def copy(self) -> "PeriodAccount":
        """Return one that changes by itself."""
        keys = {key: replace(each, lenders=dict(each.lenders)) for key, each in self.keys.items()}
        return PeriodAccount(keys, {name: dict(own) for name, own in self.namespaces.items()})

    def account(self, key: FlavorResource) -> Account:
        """Return the account of the key; a new one if there is none."""
        return self.keys.setdefault(key, Account())

    def add_use_of(self, namespace: str, key: FlavorResource, amount: Amount) -> None:
        """Count what a namespace used."""
        own = self.namespaces.setdefault(namespace, {})
        own[key] = own.get(key, 0) + amount

    def largest_namespaces(self) -> dict[str, dict[FlavorResource, Amount]]:
        """Return what MAX_NAMESPACES used, those with the largest part of some key, and all others as OTHERS."""
        if len(self.namespaces) <= MAX_NAMESPACES:
            return self.namespaces
        named = {name: own for name, own in self.namespaces.items() if name != OTHERS}
        ranked = largest_first(named, {key: each.used for key, each in self.keys.items()})
        found = PeriodAccount(self.keys, {name: named[name] for name in ranked[:MAX_NAMESPACES]})
        for name in {*ranked[MAX_NAMESPACES:], OTHERS} & self.namespaces.keys():
            for key, amount in self.namespaces[name].items():
                found.add_use_of(OTHERS, key, amount)
        return found.namespaces


@dataclass(slots=True)
class GroupAccount:
    """All that is kept of one group. `until`: all before is counted, nothing after; None: nothing is counted yet."""

    until: int | None = None
    periods: dict[str, PeriodAccount] = field(default_factory=dict)
    run_times: LeafRunTimes = NO_RUN_TIMES
    """How long workloads ran; empty for a group that is no leaf."""

    def copy(self, first: str) -> "GroupAccount":
        """Return one of which the months from `first` on change by themselves."""
        periods = {name: each.copy() if name >= first else each for name, each in self.periods.items()}
        return replace(self, periods=periods)

    def period(self, name: str) -> PeriodAccount:
        """Return the account of the month; a new one if there is none."""
        return self.periods.setdefault(name, PeriodAccount())

    def keep_latest(self, number: int) -> None:
        """Remove all months but so many, the latest."""
        for name in sorted(self.periods)[:-number]:
            del self.periods[name]


Accounts = Mapping[str, GroupAccount]
"""group -> its account."""
