"""What accounts and budgets cost: `python -m benchmarks.engine.accounts`, with 2,000 groups and 100,000 Jobs.

CPU time of what a cycle does for them after its decisions have been written: while one Job ends and another comes, and
once a minute, when all is added up. Then how many statuses a minute it writes, and how large the part of a status is.
"with budgets": every group has one. "before the decision": what a cycle does for budgets before it decides.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from statistics import median, quantiles
from typing import Final

import msgspec

from benchmarks.engine.measuring import large_world
from benchmarks.results.figures import Figure, record
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.account_status import accounted_until, with_account, with_budgets
from shared.kube.watch.memory import freeze_memory
from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.inputs.world import World
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, WhenSpent
from tests.builders import NOW, running

MINUTES: Final = 3
CYCLES: Final = 100
"""A minute."""


class Counted:
    """A cluster in which Jobs end and come, and the book that counts them."""

    def __init__(self, world: World, *, budgets: bool) -> None:
        self._dice = Random(1)
        self.world = with_a_budget_each(world) if budgets else world
        self.book = AccountBook(keep=3)
        self.book.start({}, ())
        self.now = NOW
        self._leaves = [name for name, group in self.world.tree.groups.items() if not group.is_parent]
        self._made = 0

    def cycle(self) -> tuple[float, float, list[float]]:
        """Let one Job end and one come; return the milliseconds before the decision, after it, and of each slice."""
        self.now += timedelta(seconds=60 / CYCLES)
        self._change()
        before = timed(lambda: self.book.spent(self.world.tree, self.world, self.now))
        after, slices = timed(lambda: self.book.after(self.world, self.now)), list[float]()
        while self.book.is_adding_up:
            slices.append(timed(self.book.add_slice))
        return before, after, slices

    def _change(self) -> None:
        leaf, others = self._dice.choice(self._leaves), self._dice.choice(self._leaves)
        self._made += 1
        job = running(leaf, {"cpu": 10, "memory": 10, "gpu": 1}, f"new-{self._made}", flavors="a100", since=self.now)
        gone = [(each, None) for each in self.world.workloads_of(others).admitted[:1]]
        self.world = self.world.with_changes([*gone, (None, job)])

    def statuses(self) -> list[QuotaGroupStatus]:
        """What would be written now of all groups that have used something."""
        shown = QuotaGroupStatus(observed_generation=1)
        found = []
        for name in self.book.accounts:
            until = accounted_until(name, self.book, shown)
            status = with_account(QuotaGroupStatus(), name, shown, until, self.book)
            found.append(with_budgets(status, self.world.tree[name], shown, self.book, self.now))
        return found


def with_a_budget_each(world: World) -> World:
    """Return the world in which every group may use so many hours of gpu a month."""
    budget = Budget(BudgetKey("gpu", "", BudgetPeriod.MONTH, "UTC"), 10**12, WhenSpent.NO_START)
    groups = {name: replace(group, budgets=(budget,)) for name, group in world.tree.groups.items()}
    return replace(world, tree=world.tree.with_same_parents(groups))


def timed(work: Callable[[], object]) -> float:
    """Return its CPU time in milliseconds."""
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000


def report(name: str, world: World, *, budgets: bool) -> None:
    """Print one line for each number."""
    counted = Counted(world, budgets=budgets)
    first = timed(lambda: counted.book.after(counted.world, counted.now))
    cycles = [counted.cycle() for _ in range(CYCLES * MINUTES)]
    usual = sorted(after for _, after, slices in cycles if not slices)
    before = [each for each, _, _ in cycles[1:]]
    sums = max(after + sum(slices) for _, after, slices in cycles)
    at_once = [[after, *slices] for _, after, slices in cycles if slices]
    longest = max(max(each) for each in at_once[1:] or at_once)
    written = counted.statuses()
    sizes = [len(msgspec.json.encode(each)) for each in written]
    place = f"accounts.{'budgets' if budgets else 'alone'}"
    record(
        Figure(f"{place}.before", median(before), "ms"),
        Figure(f"{place}.before.p99", quantiles(before, n=100)[98], "ms"),
        Figure(f"{place}.after", median(usual), "ms"),
        Figure(f"{place}.after.p99", quantiles(usual, n=100)[98], "ms"),
        Figure(f"{place}.minute", sums / 1000, "s"),
        Figure(f"{place}.longest", longest, "ms"),
        Figure(f"{place}.slices", median(len(each) - 1 for each in at_once), ""),
        Figure(f"{place}.statuses", len(written), "a minute"),
        Figure(f"{place}.bytes", median(sizes), "bytes"),
        Figure(f"{place}.bytes.largest", max(sizes), "bytes"),
    )
    print(f"{name}: first {first:.0f} ms; a cycle {median(usual):.2f} ms, p99 {quantiles(usual, n=100)[98]:.2f} ms")
    print(f"  before the decision {median(before):.2f} ms, p99 {quantiles(before, n=100)[98]:.2f} ms")
    print(f"  once a minute {sums:.0f} ms, in {median(map(len, at_once)):.0f} pieces of at most {longest:.1f} ms")
    print(f"  {len(written)} statuses of {median(sizes):.0f} bytes, at most {max(sizes)}")


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.accounts")
    parser.add_argument("--jobs", type=int, default=100_000)
    world = large_world(parser.parse_args().jobs)
    freeze_memory()  # as the reconciler does
    report("accounts", world, budgets=False)
    report("with budgets", world, budgets=True)


if __name__ == "__main__":
    main()
