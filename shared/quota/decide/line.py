"""One leaf's queue as a pass walks through it: who is next, and whom a waiting head blocks. DESIGN section 6.

BestEffortFIFO: later ones may pass. StrictFIFO: work that waits blocks those behind it on the flavors it waits for;
work that could never fit is set aside and blocks nobody.
"""

from collections.abc import Callable, Iterable

from shared.quota.decide.account import LeafAccount
from shared.quota.decide.cycle import Cycle
from shared.quota.decide.flavors import Attempt, Mark, Option, Stand, Wish, without_flavors
from shared.quota.decide.ordering import Head
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import QueueingStrategy
from shared.quota.model.workload import Workload

Shape = tuple[int, int, bool]
"""Work of one shape stands alike in its leaf: the same options, priority and preemptibility."""


class Line:
    """A leaf's pending work in order, each looked at once; `choose` says whether somebody may be a head."""

    __slots__ = ("_blocked", "_choose", "_cycle", "_hopeless", "_next", "account")

    def __init__(
        self, cycle: Cycle, account: LeafAccount, choose: Callable[[LeafAccount, Workload, Wish], Head | None]
    ) -> None:
        self.account = account
        self._cycle = cycle
        self._choose = choose
        self._next = 0
        self._blocked: set[str] = set()
        self._hopeless: set[Shape] = set()

    def next_head(self) -> Head | None:
        """The next work that may be tried; None when the queue is through."""
        pending = self.account.leaf.pending
        while self._next < len(pending):
            workload = pending[self._next]
            self._next += 1
            head = self._judge(workload)
            if head is not None:
                return head
        return None

    def _judge(self, workload: Workload) -> Head | None:
        cycle, account = self._cycle, self.account
        ident = (workload.kind, workload.key)
        if ident in cycle.started:
            return None
        options, wish = cycle.wish_and_options(account, workload)
        if wish is None:
            return None
        if ident in cycle.notes:
            self.wait(workload, wish)
            return None
        shape = (id(options), workload.priority, workload.preemptible)
        open_wish = without_flavors(wish, self._blocked)
        head = None
        if open_wish is not None and shape not in self._hopeless:
            head = self._choose(account, workload, open_wish)
            if head is None and not self._blocked:
                self._hopeless.add(shape)
        if head is None:
            self.wait(workload, wish)
        return head

    def give_up(self, workload: Workload) -> None:
        """Nobody of this shape need be tried again in this pass; the work waits."""
        if not self._blocked:
            options = self.account.leaf.options(workload)
            self._hopeless.add((id(options), workload.priority, workload.preemptible))

    def open_wish(self, workload: Workload) -> Wish | None:
        """What this work may take of what nobody before it blocks."""
        wish = self._cycle.wish(self.account, workload)
        return None if wish is None else without_flavors(wish, self._blocked)

    def wait(self, workload: Workload, wish: Wish | None = None) -> None:
        """Let work that waits block those behind it, where the leaf is strict about its order."""
        if self.account.leaf.group.queueing is QueueingStrategy.STRICT_FIFO:
            waits_for = self._cycle.wish(self.account, workload) if wish is None else wish
            claim = self._cycle.claims.get(workload.asker_id)
            if claim is not None:
                self._blocked.update(claim.flavors.values())
            elif waits_for is not None:
                self._blocked.update(option.flavor for each in waits_for for option in each.options)


def attempts_of(cycle: Cycle, account: LeafAccount, workload: Workload, wish: Wish) -> Iterable[Attempt]:
    """How this work stands now in each assignment. In a Strict leaf borrowed room needs a leaf below its runtime."""
    strict = account.leaf.reclaim.mode is ReclaimMode.STRICT

    def mark(option: Option) -> Mark:
        if not account.may_hold(option.ask, workload):
            return Mark(entitled=False, fits=False)
        entitled = account.is_entitled(option.ask, workload)
        fits = cycle.fits(account, option.ask)
        return Mark(entitled, fits and (entitled or not strict or account.is_below_runtime(option.ask)))

    stood = Stand(wish, mark)
    if not strict:
        return stood
    return [each for each in stood if each.entitled or account.is_below_runtime(each.ask)]
