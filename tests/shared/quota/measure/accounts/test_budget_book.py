"""Budgets beside accounts: the same sums, spent at the same moment under every leader, and what the status keeps."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest

from shared.api.quotagroup import BudgetStatus, QuotaGroupStatus
from shared.cluster.state.account_status import accounted_until, with_account, with_budgets
from shared.quota.measure.accounts.amounts import GroupAccount
from shared.quota.measure.accounts.budgets.written import (
    budgets_of,
    known_with_account,
    read_known,
    spent_as_shown,
    used_as_shown,
)
from shared.quota.measure.accounts.periods import milliseconds, moment_at
from shared.quota.measure.accounts.written_accounts import read_account
from shared.quota.measure.inputs.world import World
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, SpentBudget, WhenSpent, write_hours
from shared.quota.model.in_force import tree_in_force
from shared.quota.model.tree import Override, Tree
from tests.account_books import PromptBook
from tests.builders import NOW, after, evicting, running, world
from tests.shared.quota.measure.accounts.test_sums import with_other_jobs
from tests.shared.quota.measure.random_worlds import random_world
from tests.trees import KEY, tree

DRAWN = "root 16\n  p 8\n    a 4\n    b 4\n  c 8"
TOMORROW = milliseconds(NOW + timedelta(days=1))


def budget(gpu_seconds: int, when: WhenSpent = WhenSpent.NO_START, period: BudgetPeriod = BudgetPeriod.DAY) -> Budget:
    """Seconds of gpu: hours are kept in thousandths, so only multiples of 18 are exact."""
    assert gpu_seconds % 18 == 0
    return Budget(BudgetKey("gpu", "", period, "UTC"), gpu_seconds * 1000 // 3600, when)


def with_budgets_at(text: str, **groups: Budget) -> Tree:
    found = tree(text)
    for name, each in groups.items():
        found = found.with_group(replace(found[name], budgets=(each,)))
    return found


def started(status: QuotaGroupStatus | None = None, group: str = "p") -> PromptBook:
    book = PromptBook(UTC, keep=3)
    if status is None:
        book.start({}, (), {})
    else:
        known = read_account(status)
        below = {leaf: GroupAccount(known.until) for leaf in "abc"}  # leaves are written with their parents
        book.start({**below, group: known}, (), {group: read_known(status)})
    return book


def spent_at(book: PromptBook, found: World, seconds: float) -> list[tuple[str, int]]:
    """What is spent then, as one cycle judges it: (group, milliseconds after NOW)."""
    spent = book.spent(found.tree, found, after(seconds))
    book.after(found, after(seconds))
    return [(name, each.at - milliseconds(NOW)) for name, own in spent.items() for each in own if each.at is not None]


def test_a_budget_of_an_inner_node_is_spent_to_the_millisecond() -> None:
    job, other = running("a", 3, "x", since=after(0.5)), running("b", 1, "y", since=after(7.25))
    found = World.of(with_budgets_at(DRAWN, p=budget(90)), workloads=[job])
    book = started()
    assert spent_at(book, replace(found, workload_sets={}), 0) == []
    assert spent_at(book, found, 1) == []
    found = found.with_changes([(None, other)])
    assert spent_at(book, found, 8) == []
    # 3 gpu from 0.5 s: 20.25 gpu-seconds at 7.25 s; the rest of 69.75 with 4 gpu takes 17.4375 s.
    assert book.next_change == after(20.188)  # of 80 %
    assert spent_at(book, found, 21) == []
    assert book.next_change == after(24.688)
    assert spent_at(book, found, 24.687) == []
    assert spent_at(book, found, 24.688) == [("p", 24_688)]
    assert book.budgets.spent == {"p": (SpentBudget(budget(90), milliseconds(after(24.688)), TOMORROW),)}


def test_the_same_moment_is_found_by_a_leader_that_comes_later() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[job])
    first = started()
    for seconds in (0, 30, 66):
        assert spent_at(first, found, seconds) == [("p", 60_000)] * (seconds > 60)
    shown = written(first, found, QuotaGroupStatus(observed_generation=1), 66)
    assert shown.accounted_until == after(61)
    assert [each.spent_at for each in shown.budgets] == [after(60)]
    second = started(shown)
    assert spent_at(second, found, 500) == [("p", 60_000)]
    third = started()  # without a status it counts from now on
    assert spent_at(third, found, 500) == []
    assert spent_at(third, found, 560) == [("p", 560_000)]


def test_a_budget_goes_on_from_what_the_children_used_though_its_own_status_was_not_written() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(1800)), workloads=[job])
    first = started()
    spent_at(first, found, 0)
    spent_at(first, found, 66)
    shown = written(first, found, QuotaGroupStatus(observed_generation=1), 66)
    spent_at(first, found.with_changes([(job, None)]), 90)
    spent_at(first, found.with_changes([(job, None)]), 132)
    known = known_with_account(shown, first.accounts["p"])
    second = PromptBook(UTC, keep=3)
    second.start(first.accounts, (), {"p": known})
    spent_at(second, found.with_changes([(job, None)]), 200)
    [use] = second.budgets.shown["p"]
    assert (use.used, known[use.budget.key].used) == (3 * 90_000, 3 * 90_000)
    assert read_known(shown)[use.budget.key].used == 3 * 61_000


def written(book: PromptBook, found: World, shown: QuotaGroupStatus, seconds: float) -> QuotaGroupStatus:
    status = QuotaGroupStatus(observed_generation=1)
    status = with_account(status, "p", shown, accounted_until("p", book, shown), book)
    return with_budgets(status, found.tree["p"], shown, book, after(seconds))


def test_leader_that_knows_nothing_yet_starts_nothing_where_a_budget_binds() -> None:
    found = World.of(with_budgets_at(DRAWN, p=budget(90), c=budget(90, WhenSpent.WARN)))
    book = PromptBook(UTC, keep=3)
    assert book.spent(found.tree, found, NOW) == {"p": (SpentBudget(budget(90), None, None),)}


def test_larger_budget_and_new_day_end_it_at_once() -> None:
    job = running("a", 3, "x", since=NOW - timedelta(days=1))
    found = World.of(with_budgets_at(DRAWN, p=budget(90)), workloads=[job])
    book = started()
    assert spent_at(book, found, -40) == []
    assert spent_at(book, found, -10) == [("p", -10_000)]
    larger = replace(found, tree=with_budgets_at(DRAWN, p=budget(180)))
    assert spent_at(book, larger, -9.999) == []
    assert spent_at(book, found, -9.998)[0][0] == "p"
    assert book.next_change == NOW
    assert spent_at(book, found, 0) == []
    assert spent_at(book, found, 30) == [("p", 30_000)]


def test_override_gives_other_hours_from_its_start_until_before_its_end() -> None:
    job = running("a", 3, "x", since=NOW)
    drawn = with_budgets_at(DRAWN, p=budget(90))
    granted = Override(after(25), after(70), budgets=(budget(180),), reason="a late release")
    drawn = drawn.with_group(replace(drawn["p"], overrides=(granted,)))
    found, book = World.of(drawn, workloads=[job]), started()

    def at(seconds: float) -> list[tuple[str, int]]:
        return spent_at(book, replace(found, tree=tree_in_force(drawn, after(seconds))), seconds)

    assert [at(each) for each in (0, 24, 25, 40, 59)] == [[]] * 5
    assert at(60) == [("p", 60_000)]
    assert [name for name, _ in at(70)] == ["p"]


def test_end_that_is_seen_late_is_counted_before_anything_follows() -> None:
    """The cycle that would drain the group sees in the same moment that its Job had ended before."""
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(90)), workloads=[job])
    book = started()
    assert spent_at(book, found, 0) == []
    book.uses.finish("x", after(29))
    assert spent_at(book, found.with_changes([(job, None)]), 30.001) == []


def test_a_month_that_is_known_counts_for_a_budget_that_is_new() -> None:
    job = running("a", 1, "x", since=NOW - timedelta(days=3))
    found = world(DRAWN, [job])
    book = started()
    for seconds in (0, 70):
        spent_at(book, found, seconds)
    month = replace(found, tree=with_budgets_at(DRAWN, p=budget(180, period=BudgetPeriod.MONTH)))
    assert spent_at(book, month, 100) == []
    assert book.next_change == after(130)  # of the next sums; the budget is spent later
    assert spent_at(book, month, 180) == [("p", 180_000)]
    quarter = replace(found, tree=with_budgets_at(DRAWN, p=budget(360, period=BudgetPeriod.YEAR)))
    assert spent_at(book, quarter, 360) == [("p", 360_000)]


def test_what_is_written_is_what_is_added_up_and_a_stale_account_keeps_its_amount() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(1800)), workloads=[job])
    book = started()
    shown = QuotaGroupStatus(observed_generation=1)
    spent_at(book, found, 0)
    shown = written(book, found, shown, 1)
    assert (shown.accounted_until, shown.budgets[0].used) == (after(-5), "0")
    spent_at(book, found, 66)
    shown = written(book, found, shown, 66)
    assert (shown.accounted_until, shown.budgets[0].used) == (after(61), str(3 * 61_000))
    assert (shown.budgets[0].used_hours, shown.budgets[0].expected_at) == ("0.05", after(600))
    book.after(found.with_changes([(job, None)]), after(70))
    edited = replace(
        found.with_changes([(job, None)]), tree=with_budgets_at(DRAWN.replace("a 4", "a 3"), p=budget(1800))
    )
    spent_at(book, edited, 71)
    later = written(book, edited, shown, 71)
    assert (later.accounted_until, later.budgets[0].used) == (after(61), str(3 * 61_000))
    assert later.budgets[0].expected_at is None
    assert msgspec.json.decode(msgspec.json.encode(later), type=QuotaGroupStatus) == later


def test_what_is_spent_now_is_not_expected_any_more() -> None:
    found, book = World.of(with_budgets_at(DRAWN, p=budget(1800)), workloads=[running("a", 3, "x")]), started()
    for seconds in (0, 600):
        spent_at(book, found, seconds)
    [shown] = written(book, found, QuotaGroupStatus(observed_generation=1), 600).budgets
    assert (shown.spent_at, shown.expected_at) == (after(600), None)


def test_those_who_do_not_lead_take_it_from_the_status() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[job])
    book = started()
    for seconds in (0, 61):
        spent_at(book, found, seconds)
    shown = written(book, found, QuotaGroupStatus(observed_generation=1), 61)
    assert spent_as_shown(found.tree, [("p", shown)], after(61)) == book.budgets.spent
    assert spent_as_shown(found.tree, [("p", shown)], NOW + timedelta(days=1)) == {}
    assert spent_as_shown(with_budgets_at(DRAWN, p=budget(360)), [("p", shown)], after(61)) == {}


@pytest.mark.parametrize(
    ("used", "spent"), [("179999", False), ("180000", True), ("180001", True), ("", False), ("180000.5", False)]
)
def test_a_budget_is_spent_since_it_is_counted_where_all_is_used_and_no_moment_is_written(
    used: str, *, spent: bool
) -> None:
    own = budget(180)
    status = BudgetStatus("gpu", "", "Day", "UTC", write_hours(own.hours), counted_since=after(5), used=used)
    found = spent_as_shown(with_budgets_at(DRAWN, p=own), [("p", QuotaGroupStatus(budgets=[status]))], after(61))
    assert found == ({"p": (SpentBudget(own, milliseconds(after(5)), TOMORROW),)} if spent else {})


def test_budgets_of_a_key_are_those_in_the_status_that_count_it_and_can_be_read() -> None:
    own = budget(3600)
    written_as = [
        ("gpu", "Day", write_hours(own.hours)),
        ("gpu", "Decade", "1"),
        ("gpu", "Week", "much"),
        ("cpu", "Day", "1"),
    ]
    listed = [
        BudgetStatus(resource, "", period, "UTC", hours, counted_since=NOW, used="7")
        for resource, period, hours in written_as
    ]
    assert [*budgets_of(QuotaGroupStatus(budgets=listed), KEY)] == [("Day", 7, own.amount)]


def test_what_is_used_of_a_spent_budget_is_known_to_the_leader_and_from_the_status() -> None:
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[running("a", 3, "x")])
    book = started()
    for seconds in (0, 61):
        spent_at(book, found, seconds)
    key, now = budget(180).key, milliseconds(after(100))
    first = QuotaGroupStatus(observed_generation=1)
    shown = written(book, found, first, 61)
    unaccounted = msgspec.structs.replace(shown, accounted_until=None)
    known = [
        book.budgets.used_of_spent,
        used_as_shown(book.budgets.spent, [("p", shown)]),
        used_as_shown(book.budgets.spent, [("p", unaccounted)]),
    ]
    assert [each["p"][key].by(now, 3) for each in known] == [3 * 100_000] * 3


@pytest.mark.parametrize("seed", range(20))
def test_budget_of_a_month_has_the_amount_of_the_account(seed: int) -> None:
    """In random worlds, at every group, over edits of the tree, a month's end, and leaders that follow each other."""
    dice = Random(seed)
    found, now = random_world(dice), NOW - timedelta(minutes=10)
    found = replace(found, tree=budgeted(found.tree, found.tree.groups))
    book = PromptBook(UTC, keep=36)
    book.start({}, ())
    for step in range(30):
        book.spent(found.tree, found, now)
        book.after(found, now)
        if dice.random() < 0.1:
            book = next_leader(book, found, now)
        now += timedelta(milliseconds=dice.randint(1, 70_000))
        found = with_other_jobs(dice, found, step)
        if dice.random() < 0.1:
            name = dice.choice(sorted(found.tree.groups))
            lends = replace(found.tree[name], allow_lending=not found.tree[name].allow_lending)
            found = replace(found, tree=found.tree.with_group(lends))
    assert_same_amounts(book, now)


def budgeted(found: Tree, names: Iterable[str]) -> Tree:
    keys = [BudgetKey(resource, "", BudgetPeriod.MONTH, "UTC") for resource in ("cpu", "gpu")]
    own = tuple(Budget(key, 10**9) for key in (*keys, BudgetKey("cpu", "a", BudgetPeriod.MONTH, "UTC")))
    for name in sorted(names):
        found = found.with_group(replace(found[name], budgets=own))
    return found


def next_leader(book: PromptBook, found: World, now: datetime) -> PromptBook:
    """Go on from what the statuses would show."""
    shown = QuotaGroupStatus()
    known = {
        name: read_known(with_budgets(status_of(book.accounts.get(name)), group, shown, book, now))
        for name, group in found.tree.groups.items()
    }
    after = PromptBook(UTC, keep=36)
    after.start(dict(book.accounts), (), known)
    after.spent(found.tree, found, now)
    return after


def status_of(account: GroupAccount | None) -> QuotaGroupStatus:
    until = None if account is None else account.until
    return QuotaGroupStatus(accounted_until=NOW if until is None else moment_at(until))


def assert_same_amounts(book: PromptBook, now: datetime) -> None:
    compared = 0
    for name, meters in book.budgets.meters.items():
        account = book.accounts.get(name, GroupAccount())
        for key, meter in meters.items():
            month = moment_at(meter.span.since).strftime("%Y-%m")
            used = sum(each.used for own, each in account.period(month).keys.items() if key.counts(own))
            assert (name, key, meter.used) == (name, key, used)
            compared += used > 0
    assert compared > 0


def test_eviction_and_return_count_once() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[job])
    book = started()
    assert spent_at(book, found, 0) == []
    victim = evicting(job, at=after(10))
    assert spent_at(book, found.with_changes([(job, victim)]), 10) == []
    assert book.next_change == after(48)  # of 80 %


def test_four_fifths_and_the_whole_are_passed_once_under_one_leader() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[job])
    book = started()
    for seconds in (0, 48, 66):
        spent_at(book, found, seconds)
    passed = [(each.group, each.percent, each.at - milliseconds(NOW)) for each in book.budgets.passed.unreported]
    assert passed == [("p", 80, 48_000), ("p", 100, 60_000)]
    second = started(written(book, found, QuotaGroupStatus(observed_generation=1), 66))
    spent_at(second, found, 70)
    assert second.budgets.passed.unreported == []


def test_what_is_shown_grows_until_the_period_ends() -> None:
    job = running("a", 3, "x")
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[job])
    book = started()
    spent_at(book, found, 10)
    [use] = book.budgets.shown["p"]
    assert use.used_at(milliseconds(after(20))) == 3 * 10_000  # counted since the budget was seen
    assert use.used_at(TOMORROW + 5) == use.used_at(TOMORROW)


def test_status_keeps_its_budgets_until_a_new_leader_has_looked_at_them() -> None:
    found = World.of(with_budgets_at(DRAWN, p=budget(180)), workloads=[running("a", 3, "x")])
    book = started()
    for seconds in (0, 66):
        spent_at(book, found, seconds)
    shown = written(book, found, QuotaGroupStatus(observed_generation=1), 66)
    second = started(shown)
    assert written(second, found, shown, 70).budgets == shown.budgets
    spent_at(second, found, 71)
    [kept] = written(second, found, shown, 71).budgets
    assert (kept.used, kept.spent_at) == (shown.budgets[0].used, after(60))
