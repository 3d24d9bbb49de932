"""The accounts of all groups, and until when all that was used is added up in them.

See docs/specification.md §9.7.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import Final

from shared.quota.measure.accounts.amounts import KEPT_LENDERS, Account, Accounts, GroupAccount
from shared.quota.measure.accounts.courses import Course, GroupCourses, lent_areas, use_areas
from shared.quota.measure.accounts.leaf_use import LeafUse
from shared.quota.measure.accounts.periods import milliseconds, parts_by_period, period_of
from shared.quota.measure.accounts.root_runtime import RootRuntime
from shared.quota.model.limits import NO_CAPS, UNCOVERED, Limits, limits_of
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.resources import Amount, FlavorResource

_FAR_PAST: Final = milliseconds(datetime(2000, 1, 1, tzinfo=UTC))


class AccountSums:
    """The accounts, and the moment until which those of groups in which nothing ran are added up, too."""

    def __init__(self, zone: tzinfo, keep: int) -> None:
        self.accounts: dict[str, GroupAccount] = {}
        self.until = _FAR_PAST
        self.root = RootRuntime()
        self._zone = zone
        self._keep = keep
        self._draft: dict[str, GroupAccount] = {}
        """The accounts that are being added up; they take the place of the others all at once."""

    def go_on(self, accounts: Accounts) -> None:
        """Go on from stored accounts."""
        self.accounts = dict(accounts)

    def keep_only(self, tree: Tree) -> None:
        """Forget the accounts of groups that are not in the tree."""
        self.accounts = {name: each for name, each in self.accounts.items() if name in tree}

    def add_up(
        self, tree: Tree, courses: Mapping[str, GroupCourses], active: Mapping[str, LeafUse], until: int
    ) -> Iterator[None]:
        """Add what each group and leaf used, lost and lent until that moment; yield between groups.

        The accounts stay as they are until the end.
        """
        for name, own in courses.items():
            self._add_borrowed(name, own, until)
            yield
        for name, leaf in active.items():
            # Since when a leaf is counted holds for all above it, so that each of them is the sum of its children.
            path = tree.path(name)
            self._add_used(path, leaf, until)
            self._add_losses(path, leaf, until)
            self._add_runs(name, leaf, until)
            yield
        lenders: set[str] = set()
        for parent in courses:
            lenders |= self._add_lent(tree, courses, parent, until)
            yield
        for name in courses.keys() | lenders:
            account = self._account(name)
            account.until = max(until, account.until or until)
            account.keep_latest(self._keep)
        self.root.settle(until)
        self.until = until
        self.accounts, self._draft = {**self.accounts, **self._draft}, {}

    def _account(self, group: str) -> GroupAccount:
        draft = self._draft.get(group)
        if draft is None:
            known = self.accounts.get(group, GroupAccount())
            draft = self._draft[group] = known.copy(period_of(known.until or _FAR_PAST, self._zone))
        return draft

    def _since(self, group: str, courses: Iterable[Course]) -> int:
        """Return from when on the group is to be counted."""
        account = self._account(group)
        if account.until is not None:
            return account.until
        known = [*courses]
        if any(course.level for course in known):
            return self.until
        return max(_FAR_PAST, min((each.changes[0][0] for each in known if each.changes), default=self.until))

    def _add_borrowed(self, group: str, courses: Mapping[FlavorResource, Course], until: int) -> None:
        since = self._since(group, courses.values())
        for name, begin, end in parts_by_period(since, until, self._zone):
            for key, course in courses.items():
                borrowed = use_areas(course, begin, end).borrowed
                if borrowed:
                    self._account(group).period(name).account(key).borrowed += borrowed

    def _add_used(self, path: Sequence[str], use: LeafUse, until: int) -> None:
        """Add what a leaf used to its account, by namespace too, and to those of all groups above it."""
        leaf = path[0]
        changes: dict[tuple[str, FlavorResource], list[tuple[int, Amount]]] = {where: [] for where in use.levels}
        for each in use.changes:
            changes.setdefault((each.namespace, each.key), []).append((each.time, each.delta))
        courses = {where: Course.of(use.levels.get(where, 0), own) for where, own in changes.items()}
        since = self._since(leaf, courses.values())
        for name, begin, end in parts_by_period(since, until, self._zone):
            for (namespace, key), course in courses.items():
                used = use_areas(course, begin, end).used
                if used:
                    self._account(leaf).period(name).add_use_of(namespace, key, used)
                    for group in path:
                        self._account(group).period(name).account(key).used += used

    def _add_losses(self, path: Sequence[str], use: LeafUse, until: int) -> None:
        since = counted_until(path[0], self.accounts)
        for loss in use.losses:
            if since < loss.time <= until:
                for group in path:
                    period = self._account(group).period(period_of(loss.time, self._zone))
                    period.account(loss.key).lost += loss.amount

    def _add_runs(self, leaf: str, use: LeafUse, until: int) -> None:
        account = self._account(leaf)
        for run in use.runs:
            if (account.until or _FAR_PAST) < run.end <= until:
                account.run_times = account.run_times.after(run)
        for wait in use.waits:
            if (account.until or _FAR_PAST) < wait.start <= until:
                account.run_times = account.run_times.after_wait(wait)

    def _add_lent(self, tree: Tree, courses: Mapping[str, GroupCourses], parent: str, until: int) -> set[str]:
        """Add what the children of a group lent to their siblings; return which did."""
        lenders: set[str] = set()
        children = tree.children(parent)
        for key in courses[parent] if len(children) > 1 else ():
            own = {name: courses[name][key] for name in children if key in courses.get(name, {})}
            if any(course.peak > course.min for course in own.values()):
                idle = {name: _idle(tree, name, key) for name in children if name not in own and name != SYSTEM}
                above = self.root.course(key) if parent == ROOT else courses[parent][key]
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
                areas = lent_areas(siblings, above, first, last)
                for name, amount in areas.lent.items():
                    if amount and since[name] <= begin:
                        found.add(name)
                        self._account(name).period(period).account(key).add(Account(lent=amount))
                for (name, lender), amount in areas.taken.items():
                    if since[name] <= begin:
                        own = self._account(name).period(period).account(key)
                        own.add(Account(lenders={lender: amount}))
                        if len(own.lenders) > KEPT_LENDERS:
                            own.lenders = own.largest_lenders(KEPT_LENDERS)
        return found

    def _lent_since(self, group: str) -> int:
        """Return from when on lending is to be counted; of a group that had nothing to count, from this leader on."""
        known = self.accounts.get(group)
        return max(self.until if self.until > _FAR_PAST else 0, (known.until if known else None) or 0)


def counted_until(leaf: str, accounts: Accounts) -> int:
    """Return until when the leaf's account has all that was used; of a leaf without one, long ago."""
    known = accounts.get(leaf)
    return _FAR_PAST if known is None or known.until is None else known.until


def courses_of(tree: Tree, active: Mapping[str, LeafUse], accounts: Accounts) -> dict[str, GroupCourses]:
    """Return what each group with active leaves used, by key: of each leaf, what its account does not have yet."""
    found: dict[str, GroupCourses] = {}
    for _ in build_courses(tree, active, accounts, found):
        pass
    return found


def build_courses(
    tree: Tree, active: Mapping[str, LeafUse], accounts: Accounts, found: dict[str, GroupCourses]
) -> Iterator[None]:
    """Put into `found` what `courses_of` returns; yield between groups."""
    levels: dict[str, dict[FlavorResource, Amount]] = {}
    changes: dict[str, dict[FlavorResource, list[tuple[int, Amount]]]] = {}
    for name, leaf in active.items():
        counted = counted_until(name, accounts)
        for group in tree.path(name):
            own, changed = levels.setdefault(group, {}), changes.setdefault(group, {})
            for (_, key), amount in leaf.levels.items():
                own[key] = own.get(key, 0) + amount
            for each in leaf.changes:
                changed.setdefault(each.key, []).append((max(each.time, counted), each.delta))
        yield
    for group, own in levels.items():
        limits = limits_of(tree[group], NO_CAPS, {})
        found[group] = {
            key: Course.of(own.get(key, 0), changes[group].get(key, ()), *_promised(limits, key))
            for key in sorted(own.keys() | changes[group].keys())
        }
        yield


def _promised(limits: Mapping[FlavorResource, Limits], key: FlavorResource) -> tuple[Amount, Amount]:
    own = limits.get(key, UNCOVERED)
    return own.min, own.guarantee


def _idle(tree: Tree, group: str, key: FlavorResource) -> Course:
    """Return the course of a group that uses nothing of the key."""
    return Course.of(0, (), *_promised(limits_of(tree[group], NO_CAPS, {}), key))
