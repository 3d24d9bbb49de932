"""Keeps what is used of every budget, and says which are spent and when the next one will be.

See docs/specification.md §2.11.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from typing import Final, NamedTuple

from shared.quota.measure.accounts.amounts import GroupAccount
from shared.quota.measure.accounts.budget_meter import BudgetMeter
from shared.quota.measure.accounts.budget_periods import END, MONTHS, BudgetSpan, span_of
from shared.quota.measure.accounts.courses import Course
from shared.quota.measure.accounts.periods import period_of
from shared.quota.model.budgets.budget import Budget, BudgetKey, SpentBudget, WhenSpent
from shared.quota.model.budgets.in_force import NONE_SPENT, Spent
from shared.quota.model.tree import Group, Tree
from shared.resources import Amount, FlavorResource

GroupCourses = Mapping[FlavorResource, Course]
"""key -> what one group uses."""
_NOTHING_USED: Final = Course(0, ())


class KnownBudget(NamedTuple):
    """What a status keeps of one budget: since when it counts in its period, what was used until `accountedUntil`."""

    counted_since: int
    used: Amount
    reached: Mapping[Amount, int]


KnownBudgets = Mapping[str, Mapping[BudgetKey, KnownBudget]]


class BudgetBook:
    """The meters of all groups with budgets. `known`: what the statuses kept when this leader began."""

    def __init__(self, zone: tzinfo = UTC, months: int = 0) -> None:
        self.meters: dict[str, dict[BudgetKey, BudgetMeter]] = {}
        self.spent: Spent = NONE_SPENT
        self.known: KnownBudgets = {}
        self.next_change: int | None = None
        """When the next budget is spent at the present use, or begins again."""
        self._tree: Tree | None = None
        self._zone = zone
        self._months = months

    def follows(self, tree: Tree) -> bool:
        """Return whether the meters are those of that tree's budgets."""
        return tree is self._tree

    def follow(self, tree: Tree, accounts: Mapping[str, GroupAccount], now: int) -> None:
        """Keep meters for the budgets of that tree and for no others."""
        self._tree = tree
        before, self.meters = self.meters, {}
        for name, group in tree.groups.items():
            if group.budgets:
                known = before.get(name, {})
                account = accounts.get(name, GroupAccount())
                self.meters[name] = {
                    each.key: known.get(each.key) or self._begin(name, each.key, account, now) for each in group.budgets
                }
        self.known = {}

    def _begin(self, group: str, key: BudgetKey, account: GroupAccount, now: int) -> BudgetMeter:
        """Return the meter of a budget that is new to this leader: it goes on from the status, from the accounts of
        months, or counts from now on.
        """
        known, span = self.known.get(group, {}).get(key), span_of(key, now)
        used = self._used_in_months(key, span, account) if known is None else None
        if known is not None:
            meter = BudgetMeter(key, span_of(key, known.counted_since), known.counted_since, known.used)
            meter.reached = dict(known.reached)
        elif used is not None:
            meter = BudgetMeter(key, span, span.since, used)
        else:
            return BudgetMeter(key, span, now)
        meter.until = max(meter.until, account.until or 0)
        return meter

    def _used_in_months(self, key: BudgetKey, span: BudgetSpan, account: GroupAccount) -> Amount | None:
        """Return what the accounts say was used since the period began; None: they do not know."""
        if key.period not in MONTHS or key.zone != str(self._zone) or account.until is None:
            return None
        first, known = period_of(span.since, self._zone), sorted(account.periods)
        if len(known) >= self._months and known[0] > first:
            return None
        months = [account.periods[name] for name in known if name >= first]
        return sum(each.used for month in months for own, each in month.keys.items() if key.counts(own))

    def add_up(self, group: str, courses: GroupCourses, until: int) -> None:
        """Add up what the group used until then; when a budget was spent is found before, from single changes."""
        meters = self.meters.get(group, {})
        for budget in self._tree[group].budgets if self._tree is not None and meters else ():
            meters[budget.key].when_reached(budget.amount, until)
        for key, meter in meters.items():
            meter.add_up(_course(key, courses), until)

    def anchor(self, courses: Mapping[str, GroupCourses]) -> None:
        """Set how use goes on in every group with a budget."""
        for group, meters in self.meters.items():
            for key, meter in meters.items():
                course = _course(key, courses.get(group, {}))
                meter.anchor(course.level, course.changes)

    def observe(self, group: str, key: FlavorResource, time: int, delta: Amount) -> None:
        """Count a change of what the group uses."""
        for counted, meter in self.meters.get(group, {}).items():
            if counted.counts(key):
                meter.observe(time, delta)

    def judge(self, tree: Tree, now: int) -> Spent:
        """Return which budgets are spent; the same object as before if these are the same ones."""
        found = {name: own for name in self.meters if (own := tuple(self._spent_of(tree[name], now)))}
        if found != self.spent:
            self.spent = found
        return self.spent

    def _spent_of(self, group: Group, now: int) -> Iterator[SpentBudget]:
        for budget in group.budgets:
            meter = self.meters[group.name][budget.key]
            at = meter.when_reached(budget.amount, now)
            if at is not None and at <= now:
                yield SpentBudget(budget, at, None if meter.current.until == END else meter.current.until)

    def look_ahead(self, now: int) -> None:
        """Set the next change; it is now if what was judged last is not true any more."""
        self.next_change = None if self._tree is None else min(self._moments(self._tree, now), default=None)

    def _moments(self, tree: Tree, now: int) -> Iterator[int]:
        for name, meters in self.meters.items():
            known = {each.budget: each.at for each in self.spent.get(name, ())}
            for budget in tree[name].budgets:
                meter, was = meters[budget.key], known.get(budget)
                at = meter.when_reached(budget.amount, now)
                if was is not None and at != was:
                    yield now
                elif at is not None and at != was:
                    yield at
                if meter.current.until < END:
                    yield meter.current.until


def unknown(tree: Tree) -> Spent:
    """Return the budgets of which a new leader does not know yet what is used: nothing starts meanwhile."""
    found: dict[str, tuple[SpentBudget, ...]] = {}
    for name, group in tree.groups.items():
        own = tuple(SpentBudget(each, None, None) for each in group.budgets if _binds(each))
        if own:
            found[name] = own
    return found


def _binds(budget: Budget) -> bool:
    return budget.when_spent is not WhenSpent.WARN


def _course(key: BudgetKey, courses: GroupCourses) -> Course:
    own = [course for each, course in courses.items() if key.counts(each)]
    if len(own) == 1:
        return own[0]
    return Course.of(sum(each.level for each in own), [change for each in own for change in each.changes])
