"""Keeps what is used of every budget, and says which are spent and when the next one will be.

See docs/specification.md §2.11.
"""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Final, NamedTuple

from shared.quota.measure.accounts.amounts import GroupAccount
from shared.quota.measure.accounts.budgets.meter import BudgetMeter
from shared.quota.measure.accounts.budgets.periods import END, MONTHS, BudgetSpan, span_of
from shared.quota.measure.accounts.courses import Course, GroupCourses
from shared.quota.measure.accounts.periods import period_of
from shared.quota.model.budgets.budget import Budget, BudgetKey, SpentBudget, WhenSpent
from shared.quota.model.budgets.in_force import NONE_SPENT, Spent
from shared.quota.model.budgets.raised import BudgetsUsed, BudgetUsed
from shared.quota.model.tree import Tree
from shared.resources import Amount, FlavorResource

_NOTHING_USED: Final = Course(0, ())


class KnownBudget(NamedTuple):
    """What a status keeps of one budget: since when it counts in its period, what was used until `accountedUntil`."""

    counted_since: int
    used: Amount
    reached: Mapping[Amount, int]


class BudgetUse(NamedTuple):
    """What of a budget is used `at` that moment, and how it grows in a millisecond until its period ends."""

    budget: Budget
    used: Amount
    rate: Amount
    at: int
    until: int

    def used_at(self, now: int) -> Amount:
        """Return what is used at that moment, at the present use."""
        return self.used + self.rate * max(0, min(now, self.until) - self.at)


class PassedPart(NamedTuple):
    """The moment at which so many percent of a budget were used."""

    group: str
    budget: Budget
    percent: int
    at: int


class PassedParts:
    """Which parts of budgets were passed under this leader, and which of these are not reported yet."""

    def __init__(self) -> None:
        self.unreported: list[PassedPart] = []
        self._past: dict[PassedPart, int] = {}
        """A part, without the moment → when it was passed."""

    def note(self, part: PassedPart, begun: int, now: int) -> None:
        """Keep the part for the report if it was passed after `begun`, when this leader began, and was not before."""
        what = part._replace(at=0)
        if not 0 < part.at <= now:
            self._past.pop(what, None)
        elif self._past.get(what) != part.at:
            self._past[what] = part.at
            if part.at > begun:
                self.unreported.append(part)


class _Seen(NamedTuple):
    """What was seen of a group, and until when it is true if nothing changes."""

    spent: tuple[SpentBudget, ...]
    moment: int


_TOLD: Final = (80, 100)
"""Percent of a budget."""
KnownBudgets = Mapping[str, Mapping[BudgetKey, KnownBudget]]


class BudgetBook:
    """The meters of all groups with budgets. `known`: what the statuses kept when this leader began."""

    def __init__(self, zone: tzinfo = UTC, months: int = 0) -> None:
        self.meters: dict[str, dict[BudgetKey, BudgetMeter]] = {}
        self.spent: Spent = NONE_SPENT
        self.known: KnownBudgets = {}
        self.next_change: int | None = None
        """When the next budget is spent at the present use, or begins again."""
        self.shown: dict[str, tuple[BudgetUse, ...]] = {}
        """By group; what it has is frozen, for readers in other threads."""
        self.passed = PassedParts()
        self._seen: dict[str, _Seen] = {}
        self._changed: set[str] = set()
        """Groups that have to be looked at again."""
        self._looked = 0
        self._tree: Tree | None = None
        self._zone = zone
        self._months = months

    def follows(self, tree: Tree) -> bool:
        """Return whether the meters are those of that tree's budgets."""
        return tree is self._tree

    def follow(self, tree: Tree, accounts: Mapping[str, GroupAccount], until: int, now: int) -> None:
        """Keep meters for the budgets of that tree and for no others. `until`: until when this leader has added up."""
        self._tree = tree
        before, self.meters = self.meters, {}
        for name, group in tree.groups.items():
            if group.budgets:
                known = before.get(name, {})
                account = accounts.get(name, GroupAccount())
                self.meters[name] = {
                    each.key: known.get(each.key) or self._begin(name, each.key, account, until, now)
                    for each in group.budgets
                }
        self.known = {}
        self._seen, self.shown = {}, {}
        self._changed = set(self.meters)

    def _begin(self, group: str, key: BudgetKey, account: GroupAccount, until: int, now: int) -> BudgetMeter:
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
        meter.until, meter.begun = max(meter.until, until), max(meter.until, account.until or 0)
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

    def add_up(self, group: str, until: int) -> None:
        """Add up what the group used until then; when a budget was spent is found before, from single changes."""
        meters = self.meters.get(group, {})
        for budget in self._tree[group].budgets if self._tree is not None and meters else ():
            meters[budget.key].when_reached(budget.amount, until)
        for meter in meters.values():
            meter.add_up(until)
        self._changed.add(group)

    def anchor(self, courses: Mapping[str, GroupCourses]) -> None:
        """Set how use goes on in every group with a budget."""
        for group, meters in self.meters.items():
            for key, meter in meters.items():
                course = _course(key, courses.get(group, {}))
                meter.anchor(course.level, course.changes)
        self._changed = set(self.meters)

    def observe(self, group: str, key: FlavorResource, time: int, delta: Amount) -> None:
        """Count a change of what the group uses."""
        for counted, meter in self.meters.get(group, {}).items():
            if counted.counts(key):
                meter.observe(time, delta)
                self._changed.add(group)

    def find_spent(self, now: int) -> Spent:
        """Return which budgets are spent; the same object as before if these are the same ones."""
        self._look(now)
        found = {name: own.spent for name, own in sorted(self._seen.items()) if own.spent}
        if found != self.spent:
            self.spent = found
        return self.spent

    @property
    def used_of_spent(self) -> BudgetsUsed:
        """What is used of the budgets of groups in which some are spent."""
        shown = ((name, self.shown.get(name, ())) for name in self.spent)
        return {name: {each.budget.key: BudgetUsed(each.used, each.at) for each in uses} for name, uses in shown}

    def look_ahead(self, now: int) -> None:
        """Set the next change; it is now if what was found last is not true any more."""
        self._look(now)
        is_true = all(own.spent == self.spent.get(name, ()) for name, own in self._seen.items())
        self.next_change = min((each.moment for each in self._seen.values()), default=None) if is_true else now

    def _look(self, now: int) -> None:
        """Look at the groups in which something has changed, or is due; at all if the clock went back."""
        due = {name for name, own in self._seen.items() if own.moment <= now}
        for name in sorted(self._changed | due if now >= self._looked else self.meters.keys()):
            self._seen[name] = self._look_at(name, now)
        self._changed = set()
        self._looked = now

    def _look_at(self, name: str, now: int) -> _Seen:
        spent, moments, uses = list[SpentBudget](), [END], list[BudgetUse]()
        for budget in self._tree[name].budgets if self._tree is not None else ():
            meter = self.meters[name][budget.key]
            used, until = meter.used_at(now), meter.current.until
            moments.append(until)
            for percent in _TOLD:
                at = meter.when_reached(budget.amount * percent // 100, now)
                self.passed.note(PassedPart(name, budget, percent, at or 0), meter.begun, now)
                if at is not None and at > now:
                    moments.append(at)
                elif at is not None and percent == _TOLD[-1]:
                    spent.append(SpentBudget(budget, at, None if until == END else until))
            uses.append(BudgetUse(budget, used, meter.rate, now, until))
        self.shown[name] = tuple(uses)
        return _Seen(tuple(spent), min(moments))


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
