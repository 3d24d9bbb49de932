"""Keeps the accounts of all groups: what the world says is added up, at most once a minute.

All that happened until a moment of each group, `GroupAccount.until`, is counted there once, and nothing after it: so
a leader that goes on from a stored account counts nothing twice, and nothing is left out that is still known.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import Final

from shared.api.durations import earlier, later
from shared.quota.measure.accounts.account_sums import AccountSums, build_courses, counted_until, courses_of
from shared.quota.measure.accounts.amounts import Accounts, GroupAccount
from shared.quota.measure.accounts.budgets.book import BudgetBook, KnownBudgets, unknown
from shared.quota.measure.accounts.courses import GroupCourses
from shared.quota.measure.accounts.leaf_use import EndedUse, LeafUse
from shared.quota.measure.accounts.leaf_uses import LeafUses
from shared.quota.measure.accounts.parents import Beside, beside_children
from shared.quota.measure.accounts.periods import milliseconds, moment_at
from shared.quota.measure.inputs.world import World
from shared.quota.model.budgets.in_force import Spent
from shared.quota.model.tree import Group, Tree
from shared.resources import Amount, FlavorResource

INTERVAL: Final = timedelta(minutes=1)
"""How often amounts are added up."""
DELAY: Final = timedelta(seconds=5)
"""What is younger is not added up yet: the exact end of a Job is known a moment after its pods are gone."""
GROUPS_IN_A_SLICE: Final = 50
"""How many groups one slice of a sum looks at; that takes a few milliseconds."""


class AccountBook:
    """The accounts, and all that is not added up yet. One leader has one.

    Nothing is added up before `start`: what the objects tell of a time without a leader is read while it leads already.
    """

    def __init__(self, zone: tzinfo = UTC, keep: int = 3) -> None:
        self.has_started = False
        self.begun: int | None = None
        """When the first world was counted, in milliseconds since 1970."""
        self.budgets = BudgetBook(zone, keep)
        self._sums = AccountSums(zone, keep)
        self.uses = LeafUses(self._sums.until)
        self._tree: Tree | None = None
        self._beside: dict[str, Beside] = {}
        """parent → what it has that its children have not; empty after each sum and edit of the tree."""
        self._adding: Iterator[None] | None = None
        """What is left of the sum that is under way."""

    def start(self, accounts: Accounts, ended: Iterable[EndedUse], budgets: KnownBudgets | None = None) -> None:
        """Go on from stored accounts. `ended`: starts that have ended; what is counted of them is not counted again."""
        self._sums.go_on(accounts)
        self.budgets.known = budgets or {}
        self.uses.add_ended(ended)
        self.has_started = True

    @property
    def accounts(self) -> Mapping[str, GroupAccount]:
        """Return the accounts by group."""
        return self._sums.accounts

    def beside(self, parent: str) -> Beside | None:
        """Return what the parent's account has beside its children's; None: it is no parent, or not known yet."""
        tree = self._tree
        if not self.has_started or tree is None or parent not in tree or not tree[parent].is_parent:
            return None
        if parent not in self._beside:
            self._beside[parent] = beside_children(tree, self.accounts, parent)
        return self._beside[parent]

    @property
    def counted_until(self) -> datetime:
        """Until when all is added up, of the groups in which nothing ran too."""
        return moment_at(self._sums.until)

    @property
    def next_change(self) -> datetime | None:
        """When amounts have to be added up, or what follows from budgets changes; None while nothing runs."""
        if not self.has_started:
            return None
        budget = None if self.budgets.next_change is None else moment_at(self.budgets.next_change)
        if self.is_adding_up or not self.uses.is_active:
            return budget
        next_sums = later(moment_at(self._sums.until), INTERVAL + DELAY)
        return next_sums if budget is None else min(budget, next_sums)

    def spent(self, tree: Tree, world: World, now: datetime) -> Spent:
        """Return which budgets of `tree` are spent now, with all that `world` tells of workloads."""
        if not self.has_started:
            return unknown(tree)
        time = milliseconds(now)
        self._count_by(tree, world, time)
        if not self.budgets.follows(tree):
            self.add_up_rest()
            self.budgets.follow(tree, self.accounts, self._sums.until, time)
            self._anchor(tree)
        if self.budgets.meters:
            self._observe(world, world.tree, time)
        return self.budgets.find_spent(time)

    def after(self, world: World, now: datetime, runtime: Mapping[FlavorResource, Amount] | None = None) -> None:
        """Count what `world` uses from now on, and until now what the world before used. `runtime`: root's.

        Once a minute a sum begins, of all until a moment that is fixed then: see `add_slice`.
        """
        time = milliseconds(now)
        self._count_by(world.tree, world, time)
        self._sums.root.observe(runtime or {}, time, is_first=self.begun is None)
        self.begun = time if self.begun is None else self.begun
        self._observe(world, world.tree, time)
        is_due = self.has_started and now >= later(moment_at(self._sums.until), INTERVAL + DELAY)
        if is_due and not self.is_adding_up:
            self._begin_sum(world.tree, milliseconds(earlier(now, DELAY)))
        self.budgets.look_ahead(time)

    @property
    def is_adding_up(self) -> bool:
        """Whether a sum is under way; until its end the accounts stay as they were before it."""
        return self._adding is not None

    def add_slice(self, most: int = GROUPS_IN_A_SLICE) -> int:
        """Go on with the sum that is under way, by at most so many groups; return how many.

        A sum looks at each group several times: at what ran in it, how that changed, its budgets, and its account.
        """
        looked = 0 if self._adding is None else sum(1 for _ in islice(self._adding, most))
        if looked < most:
            self._adding = None
        return looked

    def add_up_rest(self) -> None:
        """Add up all that is left of the sum that is under way."""
        while self.is_adding_up:
            self.add_slice()

    def _count_by(self, tree: Tree, world: World, now: int) -> None:
        """Count by that tree from now on, and until now by the one before, with what is seen of `world` only now."""
        before, self._tree = self._tree, tree
        if before is not None and self.has_started and counts_otherwise(before, tree):
            self._observe(world, before, now)
            self.add_up_rest()
            self._begin_sum(before, now)
            self.add_up_rest()
            self._sums.keep_only(tree)
            self._beside.clear()
            self._anchor(tree)

    def _anchor(self, tree: Tree) -> None:
        """Let the budgets go on from all that is seen."""
        self.uses.skip_fresh()
        if self.budgets.meters:
            self.budgets.anchor(courses_of(tree, self.uses.active(tree), self.accounts))

    def _observe(self, world: World, tree: Tree, now: int) -> None:
        """See what runs in that world, and count it for the budgets of `tree`."""
        for name in self.uses.observe(world, now):
            self._tell_budgets(name, tree)

    def _tell_budgets(self, leaf: str, tree: Tree) -> None:
        fresh = self.uses.take_fresh(leaf)
        if fresh and self.budgets.meters and tree.reaches_root(leaf):
            counted = max(counted_until(leaf, self.accounts), self.uses.closed_until(leaf))
            for group in tree.path(leaf):
                for each in fresh:
                    self.budgets.observe(group, each.key, max(each.time, counted), each.delta)

    def _begin_sum(self, tree: Tree, until: int) -> None:
        """Begin to add up all until then; a clock that went back adds nothing until it has come forward again."""
        until = max(until, self._sums.until)
        self._adding = self._add_up(tree, self.uses.begin_sum(tree, until), until)

    def _add_up(self, tree: Tree, active: Mapping[str, LeafUse], until: int) -> Iterator[None]:
        """Add up all until that moment; yield between groups.

        What is seen of a leaf after it was closed counts in the next sum, as if it were seen after this one.
        """
        closed: dict[str, LeafUse] = {}
        for name, leaf in active.items():
            leaf.stop_idle(until)
            self._tell_budgets(name, tree)
            closed[name] = leaf.close(until)
            yield
        courses: dict[str, GroupCourses] = {}
        yield from build_courses(tree, closed, self.accounts, courses)
        for name in list(self.budgets.meters):
            self.budgets.add_up(name, until)
            yield
        yield from self._sums.add_up(tree, courses, closed, until)
        self.uses.end_sum()
        self._beside.clear()


def counts_otherwise(before: Tree, after: Tree) -> bool:
    """Return whether use adds up to other accounts under the other tree: groups, their places, min or what is lent."""
    if before is after:
        return False
    return before.groups.keys() != after.groups.keys() or any(
        group is not after[name] and _counted_by(group) != _counted_by(after[name])
        for name, group in before.groups.items()
    )


def _counted_by(group: Group) -> tuple[object, ...]:
    limits = ((each.flavor, each.min, each.lending_limit, each.covered) for each in group.quotas)
    return (group.parent, group.allow_lending, *limits)
