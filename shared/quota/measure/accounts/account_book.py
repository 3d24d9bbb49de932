"""Keeps the accounts of all groups: what the world says is added up, at most once a minute.

All that happened until a moment of each group, `GroupAccount.until`, is counted there once, and nothing after it: so
a leader that goes on from a stored account counts nothing twice, and nothing is left out that is still known.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Final

from shared.api.durations import earlier, later
from shared.quota.measure.accounts.amounts import Account, Accounts, GroupAccount
from shared.quota.measure.accounts.budget_book import BudgetBook, KnownBudgets, unknown
from shared.quota.measure.accounts.courses import Course, lent_areas, use_areas
from shared.quota.measure.accounts.leaf_use import EndedUse, LeafUse, StartKey
from shared.quota.measure.accounts.periods import milliseconds, moment_at, parts_by_period, period_of
from shared.quota.measure.accounts.root_runtime import RootRuntime
from shared.quota.measure.inputs.world import World
from shared.quota.model.budgets.in_force import Spent
from shared.quota.model.limits import NO_CAPS, UNCOVERED, Limits, limits_of
from shared.quota.model.tree import ROOT, SYSTEM, Group, Tree
from shared.resources import Amount, FlavorResource

INTERVAL: Final = timedelta(minutes=1)
"""How often amounts are added up."""
DELAY: Final = timedelta(seconds=5)
"""What is younger is not added up yet: the exact end of a Job is known a moment after its pods are gone."""
_FAR_PAST: Final = milliseconds(datetime(2000, 1, 1, tzinfo=UTC))

_Courses = dict[FlavorResource, Course]


class AccountBook:
    """The accounts, and all that is not added up yet. One leader has one.

    Nothing is added up before `start`: what the objects tell of a time without a leader is read while it leads already.
    """

    def __init__(self, zone: tzinfo = UTC, keep: int = 3) -> None:
        self.accounts: dict[str, GroupAccount] = {}
        self.has_started = False
        self.begun: int | None = None
        """When the first world was counted, in milliseconds since 1970."""
        self.budgets = BudgetBook(zone, keep)
        self._zone = zone
        self._keep = keep
        self._leaves: dict[str, LeafUse] = {}
        self._world: World | None = None
        self._tree: Tree | None = None
        self._until = _FAR_PAST
        self._root = RootRuntime()
        self._ends: dict[str, int] = {}
        self._ended: dict[StartKey, int] = {}
        """When starts ended that are not added up yet: what else such a start leaves goes on from there."""

    def finish(self, uid: str, end: datetime) -> None:
        """Set when the Job with this uid finished, before the world in which it is gone is counted."""
        self._ends[uid] = milliseconds(end)

    def start(self, accounts: Accounts, ended: Iterable[EndedUse], budgets: KnownBudgets | None = None) -> None:
        """Go on from stored accounts. `ended`: starts that have ended; what is counted of them is not counted again."""
        self.accounts = dict(accounts)
        self.budgets.known = budgets or {}
        for use in ended:
            leaf = self._leaf(use.leaf)
            if use.start not in self._ended and not leaf.knows(use.start):
                leaf.add_ended(use)
                self._ended[use.start] = use.end
        self.has_started = True

    @property
    def counted_until(self) -> datetime:
        """Until when all is added up, of the groups in which nothing ran too."""
        return moment_at(self._until)

    @property
    def next_change(self) -> datetime | None:
        """When amounts have to be added up, or what follows from budgets changes; None while nothing runs."""
        if not self.has_started:
            return None
        budget = None if self.budgets.next_change is None else moment_at(self.budgets.next_change)
        if not any(leaf.is_active for leaf in self._leaves.values()):
            return budget
        next_sums = later(moment_at(self._until), INTERVAL + DELAY)
        return next_sums if budget is None else min(budget, next_sums)

    def spent(self, tree: Tree, world: World, now: datetime) -> Spent:
        """Return which budgets of `tree` are spent now, with all that `world` tells of workloads."""
        if not self.has_started:
            return unknown(tree)
        time = milliseconds(now)
        self._count_by(tree, time)
        if not self.budgets.follows(tree):
            self.budgets.follow(tree, self.accounts, time)
            self._anchor(tree)
        if self.budgets.meters:
            self._observe(world, time)
        return self.budgets.judge(time)

    def after(self, world: World, now: datetime, runtime: Mapping[FlavorResource, Amount] | None = None) -> None:
        """Count what `world` uses from now on, and until now what the world before used. `runtime`: root's."""
        time = milliseconds(now)
        self._count_by(world.tree, time)
        self._root.observe(runtime or {}, time, is_first=self.begun is None)
        self.begun = time if self.begun is None else self.begun
        self._observe(world, time)
        if self.has_started and now >= later(moment_at(self._until), INTERVAL + DELAY):
            self._settle(world.tree, milliseconds(earlier(now, DELAY)))
        self.budgets.look_ahead(time)

    def _count_by(self, tree: Tree, now: int) -> None:
        """Count by that tree from now on, and until now by the one before."""
        before, self._tree = self._tree, tree
        if before is not None and self.has_started and counts_otherwise(before, tree):
            self._settle(before, now)
            self.accounts = {name: each for name, each in self.accounts.items() if name in tree}
            self._anchor(tree)

    def _anchor(self, tree: Tree) -> None:
        """Let the budgets go on from all that is seen."""
        for leaf in self._leaves.values():
            leaf.take_fresh()
        if self.budgets.meters:
            self.budgets.anchor(_courses(tree, self._active(tree)))

    def _active(self, tree: Tree) -> dict[str, LeafUse]:
        return {name: leaf for name, leaf in self._leaves.items() if leaf.is_active and tree.reaches_root(name)}

    def _observe(self, world: World, now: int) -> None:
        is_first = self._world is None
        changed = set(world.workload_sets) if self._world is None else world.changed_since(self._world)
        names = sorted(changed - {SYSTEM})
        for name in names:
            self._leaf(name).forget_ended(world.workloads_of(name), now, self._ends, self._ended)
        for name in names:
            self._leaf(name).observe(world.workloads_of(name), now, self._ended, is_first=is_first)
        for name in names:
            self._tell_budgets(name, world.tree)
        self._world = world
        self._ends.clear()

    def _tell_budgets(self, leaf: str, tree: Tree) -> None:
        fresh = self._leaf(leaf).take_fresh()
        if fresh and self.budgets.meters and tree.reaches_root(leaf):
            for group in tree.path(leaf):
                for each in fresh:
                    self.budgets.observe(group, each.key, each.time, each.delta)

    def _leaf(self, name: str) -> LeafUse:
        return self._leaves.setdefault(name, LeafUse(self._until))

    def _settle(self, tree: Tree, until: int) -> None:
        """Add up all until that moment; a clock that went back adds nothing until it has come forward again."""
        until = max(until, self._until)
        active = self._active(tree)
        for leaf in active.values():
            leaf.stop_idle(until)
            leaf.take_fresh()
        courses = _courses(tree, active)
        for name, own in courses.items():
            self._add_use(name, own, until)
        for name in self.budgets.meters:
            self.budgets.add_up(name, courses.get(name, {}), until)
        self.budgets.anchor(courses)
        for name, leaf in active.items():
            self._add_namespaces(name, leaf, until)
            self._add_losses(tree.path(name), leaf, until)
            self._add_runs(name, leaf, until)
        lenders = self._add_lent(tree, courses, until)
        for name in courses.keys() | lenders:
            account = self.accounts[name]
            account.until = max(until, account.until or until)
            account.keep_latest(self._keep)
        self._forget(until)

    def _forget(self, until: int) -> None:
        for leaf in self._leaves.values():
            leaf.settle(until)
        self._root.settle(until)
        self._ended = {start: end for start, end in self._ended.items() if end > until}
        self._until = until

    def _account(self, group: str) -> GroupAccount:
        return self.accounts.setdefault(group, GroupAccount())

    def _since(self, group: str, courses: Iterable[Course]) -> int:
        """Return from when on the group is to be counted."""
        account = self._account(group)
        if account.until is not None:
            return account.until
        known = [*courses]
        if any(course.level for course in known):
            return self._until
        return max(_FAR_PAST, min((each.changes[0][0] for each in known if each.changes), default=self._until))

    def _add_use(self, group: str, courses: Mapping[FlavorResource, Course], until: int) -> None:
        since = self._since(group, courses.values())
        for name, begin, end in parts_by_period(since, until, self._zone):
            for key, course in courses.items():
                areas = use_areas(course, begin, end)
                if areas.used:
                    own = self.accounts[group].period(name)
                    own.account(key).add(Account(used=areas.used, borrowed=areas.borrowed))

    def _add_namespaces(self, leaf: str, use: LeafUse, until: int) -> None:
        changes: dict[tuple[str, FlavorResource], list[tuple[int, Amount]]] = {where: [] for where in use.levels}
        for each in use.changes:
            changes.setdefault((each.namespace, each.key), []).append((each.time, each.delta))
        courses = {where: Course.of(use.levels.get(where, 0), own) for where, own in changes.items()}
        since = self._since(leaf, courses.values())
        for name, begin, end in parts_by_period(since, until, self._zone):
            period = self.accounts[leaf].period(name) if courses else None
            for (namespace, key), course in courses.items():
                used = use_areas(course, begin, end).used
                if used and period is not None:
                    period.add_use_of(namespace, key, used)
            if period is not None:
                period.keep_largest()

    def _add_losses(self, path: Iterable[str], use: LeafUse, until: int) -> None:
        for group in path:
            account = self._account(group)
            for loss in use.losses:
                if (account.until or _FAR_PAST) < loss.time <= until:
                    period = account.period(period_of(loss.time, self._zone))
                    period.account(loss.key).add(Account(lost=loss.amount))

    def _add_runs(self, leaf: str, use: LeafUse, until: int) -> None:
        account = self._account(leaf)
        for run in use.runs:
            if (account.until or _FAR_PAST) < run.end <= until:
                account.run_times = account.run_times.after(run)

    def _add_lent(self, tree: Tree, courses: Mapping[str, _Courses], until: int) -> set[str]:
        """Add what groups lent to their siblings; return which did."""
        lenders: set[str] = set()
        for parent, keys in courses.items():
            children = tree.children(parent)
            if len(children) < 2:
                continue
            for key in keys:
                own = {name: courses[name][key] for name in children if key in courses.get(name, {})}
                if any(course.peak > course.min for course in own.values()):
                    idle = {name: _idle(tree, name, key) for name in children if name not in own and name != SYSTEM}
                    above = self._root.course(key) if parent == ROOT else keys[key]
                    lenders |= self._add_lent_of({**own, **idle}, above, key, until)
        return lenders

    def _add_lent_of(self, siblings: Mapping[str, Course], above: Course, key: FlavorResource, until: int) -> set[str]:
        found: set[str] = set()
        known = any(course.level for course in siblings.values())
        first_use = (
            0 if known else min((each.changes[0][0] for each in siblings.values() if each.changes), default=until)
        )
        since = {name: max(first_use, self._lent_since(name)) for name in siblings}
        times = sorted({each for each in since.values() if each < until} | {until})
        for begin, end in pairwise(times):
            for period, first, last in parts_by_period(begin, end, self._zone):
                for name, amount in lent_areas(siblings, above, first, last).items():
                    if amount and since[name] <= begin:
                        found.add(name)
                        self._account(name).period(period).account(key).add(Account(lent=amount))
        return found

    def _lent_since(self, group: str) -> int:
        """Return from when on lending is to be counted; of a group that had nothing to count, from this leader on."""
        known = self.accounts.get(group)
        return max(self._until if self._until > _FAR_PAST else 0, (known.until if known else None) or 0)


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


def _courses(tree: Tree, active: Mapping[str, LeafUse]) -> dict[str, _Courses]:
    """Return what each group with active leaves used, by key."""
    levels: dict[str, dict[FlavorResource, Amount]] = {}
    changes: dict[str, dict[FlavorResource, list[tuple[int, Amount]]]] = {}
    for name, leaf in active.items():
        for group in tree.path(name):
            own, changed = levels.setdefault(group, {}), changes.setdefault(group, {})
            for (_, key), amount in leaf.levels.items():
                own[key] = own.get(key, 0) + amount
            for each in leaf.changes:
                changed.setdefault(each.key, []).append((each.time, each.delta))
    found: dict[str, _Courses] = {}
    for group, own in levels.items():
        limits = limits_of(tree[group], NO_CAPS, {})
        found[group] = {
            key: Course.of(own.get(key, 0), changes[group].get(key, ()), *_promised(limits, key))
            for key in sorted(own.keys() | changes[group].keys())
        }
    return found


def _promised(limits: Mapping[FlavorResource, Limits], key: FlavorResource) -> tuple[Amount, Amount]:
    own = limits.get(key, UNCOVERED)
    return own.min, own.guarantee


def _idle(tree: Tree, group: str, key: FlavorResource) -> Course:
    """Return the course of a group that uses nothing of the key."""
    return Course.of(0, (), *_promised(limits_of(tree[group], NO_CAPS, {}), key))
