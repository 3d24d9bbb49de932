"""The accounts of a closed world's life, beside what its workloads used by definition: the same, to the millisecond.

See docs/specification.md §9.7.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from shared.quota.measure.accounts.account_book import AccountBook
from shared.quota.measure.accounts.amounts import Account
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.inputs.world import World
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.prove.rest.stepping import Cycle
from tests.shared.quota.reference.usage_by_definition import asked

Start = tuple[str, int]
"""A workload, and when it was admitted, in milliseconds since 1970."""
Span = tuple[Workload, int, int]
"""A workload, from when it counts, and when it was gone."""


class AccountedLife:
    """Counts each cycle twice: by the accounts, and by when workloads were admitted and when they were gone."""

    def __init__(self) -> None:
        self._book = AccountBook(UTC, keep=36)
        self._book.start({}, ())
        self._running: dict[Start, Workload] = {}
        self._begun: dict[Start, int] = {}
        """A start → from when it counts."""
        self._decided: set[Start] = set()
        self._spans: list[Span] = []
        self._last: tuple[World, datetime] | None = None

    def see(self, cycle: Cycle) -> None:
        """Count what this cycle sees. What others have admitted counts from what is added up of its leaf by then."""
        world, now = cycle.snapshot.world, cycle.snapshot.now
        added_up = {name: self._book.uses.closed_until(name) for name in world.workload_sets}
        self._book.after(world, now)
        self._book.add_slice(1)
        found = {
            (work.key, milliseconds(work.admission.since)): work
            for name, workloads in world.workload_sets.items()
            if name != SYSTEM
            for work in (*workloads.admitted, *workloads.evicting)
            if work.admission is not None
        }
        for start in found.keys() - self._running.keys():
            self._begun[start] = start[1] if start in self._decided else max(start[1], added_up[found[start].group])
        for start in self._running.keys() - found.keys():
            self._spans.append((self._running[start], self._begun[start], milliseconds(now)))
        self._running = found
        self._decided = {(each.workload.key, milliseconds(now)) for each in cycle.plan.starts}
        self._last = (world, now)

    def flaws(self) -> Iterator[str]:
        """What the accounts say otherwise than the definition, and where a parent is not the sum of its children."""
        if self._last is None:
            return
        world, now = self._last
        self._book.add_up_rest()
        self._book.after(world, now + timedelta(minutes=2))
        self._book.add_up_rest()
        until = milliseconds(self._book.counted_until)
        spans = [*self._spans, *((work, self._begun[start], until) for start, work in self._running.items())]
        used = used_by_definition(world.tree, spans, until)
        for name in sorted(world.tree.groups.keys() - {SYSTEM}):
            accounts = self._of(name)
            for key in sorted(accounts.keys() | {each for group, each in used if group == name}):
                own = accounts.get(key, Account())
                if own.used != used[name, key]:
                    yield f"accounts: {name} used {used[name, key]} of {key}, its account says {own.used}"
                if not (0 <= own.borrowed <= own.used and 0 <= own.lost <= own.used and own.lent >= 0):
                    yield f"accounts: {name} has {own} of {key}"
                yield from self._sum_of_children(world.tree, name, key, own)
                yield from self._lent_to_children(world.tree, name, key)

    def _sum_of_children(self, tree: Tree, name: str, key: FlavorResource, own: Account) -> Iterator[str]:
        children = [self._of(child).get(key, Account()) for child in tree.children(name) if child not in (SYSTEM, ROOT)]
        sums = sum(each.used for each in children), sum(each.lost for each in children)
        if tree[name].is_parent and sums != (own.used, own.lost):
            yield f"accounts: children of {name} used and lost {sums} of {key}, it {(own.used, own.lost)}"

    def _lent_to_children(self, tree: Tree, name: str, key: FlavorResource) -> Iterator[str]:
        """What a child lent is what its siblings say they had of it, and none had more than it borrowed."""
        children = {child: self._of(child).get(key, Account()) for child in tree.children(name) if child != SYSTEM}
        for child, own in children.items():
            taken = sum(each.lenders.get(child, 0) for each in children.values())
            if taken != own.lent or own.of_parent < 0:
                yield f"accounts: {child} lent {own.lent} of {key}, siblings had {taken}; its parent's: {own.of_parent}"

    def _of(self, group: str) -> dict[FlavorResource, Account]:
        found: dict[FlavorResource, Account] = {}
        account = self._book.accounts.get(group)
        for period in account.periods.values() if account is not None else ():
            for key, each in period.keys.items():
                found.setdefault(key, Account()).add(each)
        return found


def used_by_definition(tree: Tree, spans: Iterable[Span], until: int) -> Counter[tuple[str, FlavorResource]]:
    """What each group used of each key: of every workload at or below it, from its admission on."""
    found: Counter[tuple[str, FlavorResource]] = Counter()
    for work, since, end in spans:
        assert work.admission is not None
        for key, amount in asked(work, work.admission.flavors).items():
            for group in tree.path(work.group):
                found[group, key] += amount * max(0, min(end, until) - since)
    return found
