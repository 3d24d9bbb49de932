"""The book: a start counts from its admission to its end once, under every leader, and in every group above."""

import pickle
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, timedelta
from random import Random

import pytest

from shared.api.quotagroup import PeriodAccountStatus
from shared.quota.measure.accounts.account_book import DELAY, GROUPS_IN_A_SLICE, AccountBook
from shared.quota.measure.accounts.amounts import MAX_LENDERS, MAX_NAMESPACES, OTHERS, Account, GroupAccount
from shared.quota.measure.accounts.leaf_use import EndedUse
from shared.quota.measure.accounts.parents import beside_children, with_parents
from shared.quota.measure.accounts.periods import milliseconds, moment_at
from shared.quota.measure.accounts.written_accounts import write_account
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Eviction, EvictionReason, Workload
from shared.resources import Amount, FlavorResource
from tests.account_books import PromptBook
from tests.builders import NOW, after, evicting, pending, running, unanswered, world
from tests.trees import KEY, tree

TREE = "root 16\n  p 8\n    a 4\n    b 4\n  c 8"
MONTH = "2026-01"


def account(book: AccountBook, group: str, month: str = MONTH) -> Account:
    return book.accounts.get(group, GroupAccount()).period(month).account(KEY)


def new_book() -> PromptBook:
    book = PromptBook(UTC, keep=3)
    book.start({}, ())
    return book


def closed(book: AccountBook, last: World, seconds: float) -> AccountBook:
    """`book`, when all until then is added up."""
    book.after(last, after(seconds))
    book.after(last, after(seconds) + timedelta(seconds=66))
    return book


def test_use_is_split_by_min_and_summed_at_the_parents() -> None:
    book, job = new_book(), running("a", 6, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    closed(book, found.with_changes([(job, None)]), 10)
    assert account(book, "a") == Account(used=60_000, borrowed=20_000, lenders={"b": 20_000})
    assert account(book, "a").within_min == 40_000
    assert account(book, "b") == Account(lent=20_000)
    assert account(book, "p") == Account(used=60_000)
    assert account(book, "root").used == 60_000
    assert "c" not in book.accounts


def test_a_start_counts_from_its_admission_though_it_is_seen_later() -> None:
    book = new_book()
    found = world(TREE, [])
    book.after(found, NOW)
    job = running("a", 1, "x", since=after(2))
    found = found.with_changes([(None, job)])
    book.after(found, after(5))
    closed(book, found.with_changes([(job, None)]), 12)
    assert account(book, "a").used == 10_000


def test_a_finished_job_ends_when_it_says_so() -> None:
    book, job = new_book(), running("a", 1, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    idle = replace(job, request={})
    book.after(found.with_changes([(job, idle)]), after(9.7))
    book.uses.finish("x", after(9))
    closed(book, found.with_changes([(job, None)]), 10)
    assert account(book, "a").used == 9_000


def test_a_job_whose_pods_are_gone_counts_until_then_however_often_it_is_seen() -> None:
    book, job = new_book(), running("a", 1, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    idle = replace(job, request={})
    gone = found.with_changes([(job, idle)])
    book.after(gone, after(4))
    book.after(gone.with_changes([(idle, replace(idle, priority=1))]), after(6))
    closed(book, found.with_changes([(job, None)]), 9)
    assert account(book, "a").used == 4_000


def test_pods_of_a_later_attempt_count_again() -> None:
    book, job = new_book(), running("a", 1, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    idle = found.with_changes([(job, replace(job, request={}))])
    book.after(idle, after(4))
    again = idle.with_changes([(replace(job, request={}), job)])
    book.after(again, after(6))
    closed(book, again.with_changes([(job, None)]), 9)
    assert account(book, "a").used == 7_000


def test_all_is_counted_of_a_pod_group_whose_first_pod_goes() -> None:
    """It has that pod's uid: its use since the start was counted as if the pod had never been there."""
    book = new_book()
    whole = replace(running("a", 6, "x", since=NOW), kind="PodGroup", uid="first")
    found = world(TREE, [whole])
    book.after(found, NOW)
    rest = replace(whole, request={"gpu": 1}, uid="second")
    found = found.with_changes([(whole, rest)])
    book.after(found, after(30))
    closed(book, found.with_changes([(rest, None)]), 40)
    assert account(book, "a").used == 6 * 30_000 + 1 * 10_000


def test_what_was_used_before_an_eviction_is_lost_and_its_pods_count_until_they_end() -> None:
    book, job = new_book(), running("a", 2, "x", since=after(-100))
    found = world(TREE, [job])
    book.after(found, NOW)
    victim = evicting(job, at=after(30))
    found = found.with_changes([(job, victim)])
    book.after(found, after(30.2))
    waiting = replace(victim, admission=None)
    closed(book, found.with_changes([(victim, waiting)]), 33)
    assert account(book, "a").used + account(book, "a", "2025-12").used == 2 * (100 + 33) * 1000
    assert account(book, "a").lost == 2 * 130 * 1000
    assert account(book, "root").lost == account(book, "a").lost


def test_what_is_evicted_at_its_start_leaves_no_amounts() -> None:
    book, start = PromptBook(UTC, keep=3), milliseconds(NOW)
    book.after(world(TREE, []), NOW)
    book.start({}, [EndedUse("a", "ns", ("x", start), {KEY: 2}, end=start, evicted=start)])
    closed(book, world(TREE, []), 10)
    assert book.accounts["a"].period(MONTH).keys == {}


def test_what_its_owner_suspends_is_not_lost() -> None:
    book, job = new_book(), running("a", 2, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    found = found.with_changes([(job, replace(job, eviction=Eviction(EvictionReason.SUSPENDED, after(5))))])
    closed(book, found, 6)
    assert account(book, "a").lost == 0


def test_a_start_that_was_not_written_is_not_counted() -> None:
    assumed = unanswered(running("a", 2, "x"))
    book, found = new_book(), world(TREE, [assumed])
    book.after(found, NOW)
    closed(book, found.with_changes([(assumed, pending("a", 2, "x"))]), 3)
    assert account(book, "a").used == 0


def test_a_start_that_is_written_counts_though_the_job_waits_again_without_an_eviction() -> None:
    job = running("a", 2, "x")
    assumed = unanswered(job)
    book, found = new_book(), world(TREE, [assumed])
    book.after(found, NOW)
    book.after(found.with_changes([(assumed, job)]), after(1))
    closed(book, found.with_changes([(assumed, pending("a", 2, "x"))]), 3)
    assert account(book, "a").used == 6_000


@pytest.mark.parametrize("seen_before", [False, True], ids=["left by its end", "terminating before its end"])
def test_pods_of_a_finished_job_that_are_seen_later_count_no_more(seen_before: bool) -> None:
    """Chaos, seed 271127: after a silent watch a leader knew of a Job's end before it knew of that of its pod."""
    book, job = new_book(), running("a", 4, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    left = replace(job, kind="TerminatingJob/x", request={"gpu": 1}, eviction=Eviction(EvictionReason.SUSPENDED, NOW))
    if seen_before:
        found = found.with_changes([(None, left)])
        book.after(found, after(5))
    book.uses.finish("x", after(9))
    found = found.with_changes([(job, None), (left if seen_before else None, replace(left, request={"gpu": 5}))])
    book.after(found, after(9.5))
    book.after(found, after(80))  # adds up what was until 75
    found = found.with_changes([(replace(left, request={"gpu": 5}), replace(left, request={"gpu": 3}))])
    book.after(found, after(81))
    closed(book, found.with_changes([(replace(left, request={"gpu": 3}), None)]), 82)
    terminating = 4_000 if seen_before else 0
    assert account(book, "a").used == 4 * 9_000 + terminating


def test_a_month_ends_while_a_job_runs() -> None:
    book, job = new_book(), running("a", 1, "x", since=NOW - timedelta(seconds=7))
    found = world(TREE, [job])
    book.after(found, NOW)
    closed(book, found.with_changes([(job, None)]), 4)
    assert account(book, "a", "2025-12").used == 7_000
    assert account(book, "a").used == 4_000


def test_only_so_many_months_are_kept() -> None:
    job = running("a", 1, "x", since=NOW - timedelta(days=200))
    book = closed(new_book(), world(TREE, [job]), 0)
    assert sorted(book.accounts["a"].periods) == ["2025-11", "2025-12", "2026-01"]


def test_a_clock_that_goes_back_counts_nothing_twice() -> None:
    book, job = new_book(), running("a", 1, "x")
    found = world(TREE, [job])
    for seconds in (0, 100, 200, 60, 90, 190, 260, 300):
        book.after(found, after(seconds))
    closed(book, found.with_changes([(job, None)]), 400)
    assert account(book, "a").used == 400_000


def written(book: AccountBook, group: str) -> PeriodAccountStatus:
    """The month of the group as its status has it."""
    (month,) = write_account(book.accounts[group])[0]
    return month


def test_the_largest_namespaces_are_written_and_the_rest_as_one() -> None:
    jobs = [replace(running("a", 1 + number % 7, f"x{number}"), key=f"ns-{number:03}/x") for number in range(300)]
    book, found = new_book(), world(TREE, jobs)
    book.after(found, NOW)
    closed(book, found.with_changes((job, None) for job in jobs), 10)
    used = {each.namespace: int(each.flavors[0].used[KEY.resource]) for each in written(book, "a").namespaces}
    assert len(used) == MAX_NAMESPACES + 1
    assert sum(used.values()) == account(book, "a").used
    assert min(amount for name, amount in used.items() if name != OTHERS) >= 2 * 10_000


def test_a_namespace_that_comes_late_is_written_once_it_is_among_the_largest() -> None:
    early = [replace(running("a", 1, f"x{number}"), key=f"ns-{number:03}/x") for number in range(MAX_NAMESPACES)]
    late = replace(running("a", 1, "late", since=after(600)), key="late/x")
    book, found = new_book(), world(TREE, early)
    book.after(found, NOW)
    found = found.with_changes([*((job, None) for job in early), (None, late)])
    # Each minute of it is less than what any of the others has used, until it has used more than all of them.
    for minute in range(10, 40):
        book.after(found, after(60 * minute))
    largest = max(written(book, "a").namespaces, key=lambda each: int(each.flavors[0].used[KEY.resource]))
    assert largest.namespace == "late"


def test_a_sibling_that_lends_late_is_written_once_it_is_among_the_largest() -> None:
    names = [f"s{number:02}" for number in range(MAX_LENDERS + 1)]
    siblings = "\n".join(f"  {name} 1" for name in names)
    own = running(names[-1], 1, "own")
    book, found = new_book(), world(f"root 21\n  a 0\n{siblings}", [running("a", MAX_LENDERS, "x"), own])
    book.after(found, NOW)
    for minute in range(1, 10):
        book.after(found, after(60 * minute))
    first = running(names[0], 1, "first", since=after(600))
    found = found.with_changes([(own, None), (None, first)])
    for minute in range(10, 60):
        book.after(found, after(60 * minute))
    lent = {each.group: int(each.amounts[KEY.resource]) for each in written(book, "a").flavors[0].borrowed_from}
    assert len(lent) == MAX_LENDERS + 1
    assert names[-1] in lent
    assert names[0] not in lent
    assert sum(lent.values()) == account(book, "a").borrowed


def test_a_moved_leaf_counts_below_its_new_parent_from_then_on() -> None:
    book, job = new_book(), running("a", 1, "x")
    found = world(TREE, [job])
    book.after(found, NOW)
    moved = replace(found, tree=tree("root 16\n  p/ 8\n    b 4\n  q 8\n    a 4\n  c 8"))
    book.after(moved, after(100))
    closed(book, moved.with_changes([(job, None)]), 130)
    assert [account(book, name).used for name in ("p", "q", "a", "root")] == [100_000, 30_000, 130_000, 130_000]


def test_a_start_that_is_seen_with_an_edit_of_the_tree_counts_from_its_admission() -> None:
    book, found = new_book(), world(TREE, [])
    book.after(found, NOW)
    job = running("a", 1, "x", since=after(2))
    found = replace(found.with_changes([(None, job)]), tree=tree(TREE.replace("b 4", "b 3")))
    book.after(found, after(5))
    closed(book, found.with_changes([(job, None)]), 12)
    assert [account(book, name).used for name in ("a", "p", "root")] == [10_000, 10_000, 10_000]


def use_of(workload: Workload) -> Mapping[FlavorResource, Amount]:
    return {KEY: workload.request["gpu"]}


@pytest.mark.parametrize("slices", [None, 4, 1], ids=["whole sums", "slices of four groups", "slices of one group"])
@pytest.mark.parametrize("seed", range(30))
def test_accounts_equal_the_times_of_the_jobs_under_killed_leaders(seed: int, slices: int | None) -> None:
    """Leaders are killed between writes of single groups; the next one knows the objects and what is stored.

    With slices, Jobs come and end, and statuses are written, while a sum is under way.
    """
    dice = Random(seed)
    kind = PromptBook if slices is None else AccountBook
    jobs = [
        running(dice.choice("abc"), dice.randint(1, 5), f"x{number}", since=after(dice.randint(0, 900) + 0.25))
        for number in range(25)
    ]
    ends = {job.uid: after(dice.randint(900, 1500) if dice.random() < 0.3 else dice.randint(1, 600)) for job in jobs}
    spans = {job.uid: (since_of(job), max(since_of(job) + 5_000, milliseconds(ends[job.uid]))) for job in jobs}
    ends = {uid: moment_at(end) for uid, (_, end) in spans.items()}
    stored: dict[str, bytes] = {}
    book, found = kind(UTC, keep=3), world(TREE, [])
    book.start({}, ())
    beside = {name: beside_children(found.tree, {}, name) for name in ("root", "p")}
    for second in range(0, 1700, 3):
        now, time = after(second), milliseconds(after(second))
        runs = {job.id: job for job in jobs if spans[job.uid][0] <= time < spans[job.uid][1]}
        if dice.random() < 0.03:
            book = kind(UTC, keep=3)
            found = world(TREE, runs.values())
            gone = [job for job in jobs if spans[job.uid][1] <= time]
            book.after(found, now)
            ended = [EndedUse(j.group, "ns", (j.uid, since_of(j)), use_of(j), milliseconds(ends[j.uid])) for j in gone]
            read = {name: pickle.loads(each) for name, each in stored.items()}
            book.start(with_parents(found.tree, read, beside), ended)
        else:
            known = {**found.workloads_of("a").by_id, **found.workloads_of("b").by_id, **found.workloads_of("c").by_id}
            for gone_id in known.keys() - runs.keys():
                book.uses.finish(known[gone_id].uid, ends[known[gone_id].uid])
            lost = [(known[each], None) for each in known.keys() - runs.keys()]
            found = found.with_changes([*lost, *((None, runs[each]) for each in runs.keys() - known.keys())])
        book.after(found, now)
        book.add_slice(slices or 1)
        for name in book.accounts:
            if dice.random() < 0.5:
                stored[name] = pickle.dumps(book.accounts[name])
                beside.update((name, each) for each in [book.beside(name)] if each is not None)
    book.add_up_rest()
    closed(book, found, 1800 + DELAY.total_seconds()).add_up_rest()
    for group, leaves in {"a": "a", "b": "b", "c": "c", "p": "ab", "root": "abc"}.items():
        own = [job for job in jobs if job.group in leaves]
        expected = sum(job.request["gpu"] * (spans[job.uid][1] - spans[job.uid][0]) for job in own)
        assert account(book, group).used == expected, group


def many_leaves(number: int) -> tuple[AccountBook, World]:
    """A book with a sum under way, of so many leaves in each of which a Job has run for a minute."""
    names = [f"leaf-{each}" for each in range(number)]
    book, found = AccountBook(UTC, keep=3), world("root 999\n" + "\n".join(f"  {name} 1" for name in names), [])
    book.start({}, ())
    found = found.with_changes([(None, running(name, 2, f"x-{name}")) for name in names])
    book.after(found, NOW)
    book.after(found, after(65))
    book.add_up_rest()
    book.after(found, after(130))
    return book, found


def test_one_slice_of_a_sum_looks_at_so_many_groups() -> None:
    """So no start waits for the accounts of all groups, however many there are."""
    book, found = many_leaves(120)
    before = deepcopy(book.accounts)
    looked = []
    while book.is_adding_up:
        assert book.accounts == before
        looked.append(book.add_slice())
    assert max(looked) == GROUPS_IN_A_SLICE
    assert 3 * 121 <= sum(looked) <= 7 * 121
    assert {account(book, name).used for name in found.tree.children("root")} == {2 * 125_000}
    assert account(book, "root").used == 2 * 125_000 * 120


def test_no_sum_begins_and_none_is_due_while_one_is_under_way() -> None:
    book, found = many_leaves(120)
    book.add_slice()
    book.after(found, after(500))
    assert (book.is_adding_up, book.next_change) == (True, None)
    book.add_up_rest()
    assert (account(book, "root").used, book.counted_until) == (2 * 125_000 * 120, after(125))
    book.after(found, after(500))
    book.add_up_rest()
    assert (account(book, "root").used, book.counted_until) == (2 * 495_000 * 120, after(495))


def test_an_edit_of_the_tree_ends_the_sum_that_is_under_way_by_the_tree_before() -> None:
    book, found = many_leaves(120)
    book.add_slice()
    lines = "\n".join(f"  leaf-{each} {2 if each else 1}" for each in range(120))
    book.after(replace(found, tree=tree("root 999\n" + lines)), after(131))
    assert not book.is_adding_up
    assert [account(book, name).borrowed for name in ("leaf-0", "leaf-1")] == [131_000, 131_000]


def test_a_start_that_is_seen_with_an_edit_during_a_sum_counts_from_its_admission() -> None:
    """The sum that the edit ends counts it too, as it would without the edit, in a leaf that it has not closed yet."""
    book, found = many_leaves(120)
    book.add_slice(1)
    job = running("leaf-119", 1, "late", since=after(100))
    lines = "\n".join(f"  leaf-{each} {2 if each else 1}" for each in range(120))
    book.after(replace(found.with_changes([(None, job)]), tree=tree("root 999\n" + lines)), after(131))
    assert [account(book, name).used for name in ("leaf-118", "leaf-119")] == [262_000, 262_000 + 31_000]


def since_of(job: Workload) -> int:
    assert job.admission is not None
    return milliseconds(job.admission.since)


def test_accounts_are_added_amount_by_amount() -> None:
    total = Account(used=10, borrowed=5, lent=3, lost=1, lenders={"a": 2})
    total.add(Account(used=20, borrowed=7, lent=4, lost=2, lenders={"a": 1, "b": 4}))
    assert total == Account(used=30, borrowed=12, lent=7, lost=3, lenders={"a": 3, "b": 4})
    assert (total.within_min, total.of_parent) == (18, 5)


def test_what_root_has_beside_the_mins_is_borrowed_first() -> None:
    book, job = new_book(), running("c", 11, "x")
    found = world(TREE, [job])
    book.after(found, NOW, {KEY: 18})
    book.after(found, after(4), {KEY: 25})
    book.after(found.with_changes([(job, None)]), after(10), {KEY: 25})
    closed(book, found.with_changes([(job, None)]), 11)
    assert account(book, "c") == Account(used=110_000, borrowed=30_000, lenders={"p": 4_000})
    assert account(book, "c").of_parent == 26_000
    assert account(book, "p") == Account(lent=4_000)  # 3 borrowed for 10 s; 2 of them were beside the mins for 4 s
