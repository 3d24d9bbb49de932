"""A leaf's pending work sorted into kinds: work of one kind stands alike, so that a pass need ask only once a kind."""

from collections.abc import Mapping

from shared.quota.decide.flavors import Wish, wish_of
from shared.quota.decide.room import Ask
from shared.quota.measure.snapshot import LeafState
from shared.quota.model.eligibility import Options
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Workload


class Kind:
    """What the work of one kind may take, its priority, and whether it is preemptible. Compared by identity."""

    __slots__ = ("options", "preemptible", "priority", "wish")

    def __init__(self, options: Options, wish: Wish | None, workload: Workload) -> None:
        self.options = options
        """Held so that its identity, by which kinds are told apart, is not given to another."""
        self.wish = wish
        """None: it could never start."""
        self.priority = workload.priority
        self.preemptible = workload.preemptible


class Queue:
    """The kinds of one leaf's pending work, each in its place."""

    __slots__ = ("_by_work", "_known", "asks", "flavors", "kinds", "leaf", "startable")

    def __init__(self, leaf: LeafState, flavors: Mapping[str, Flavor], former: "Queue | None" = None) -> None:
        """`former`: an earlier queue of the leaf, whose answers are taken over where they still hold."""
        alike = former is not None and former.leaf.chooser is leaf.chooser and former.flavors is flavors
        self.leaf: LeafState = leaf
        self.flavors: Mapping[str, Flavor] = flavors
        self._known: dict[tuple[int, int, bool], Kind] = former._known if former is not None and alike else {}
        by_work: dict[int, Kind] = former._by_work if former is not None and alike else {}
        self.kinds = tuple([by_work.get(id(each)) or self._kind(each) for each in leaf.pending])
        self._by_work: dict[int, Kind] = dict(zip(map(id, leaf.pending), self.kinds, strict=True))
        self.startable = frozenset(each for each in self.kinds if each.wish is not None)
        self.asks = _smallest(self.startable)
        """If none of these fits, nothing here does."""

    def kind_of(self, workload: Workload) -> Kind:
        """The kind of this pending work, or of any other that would wait here."""
        return self._by_work.get(id(workload)) or self._kind(workload)

    def _kind(self, workload: Workload) -> Kind:
        options = self.leaf.options(workload)
        key = (id(options), workload.priority, workload.preemptible)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Kind(options, wish_of(workload, options, self.flavors), workload)
        return found


def _smallest(kinds: frozenset[Kind]) -> tuple[Ask, ...]:
    """What the kinds may take, less what takes at least as much of every key as another does."""
    asks = {each.ask for kind in kinds for each in kind.wish or ()}
    return tuple(ask for ask in asks if not any(other != ask and _is_within(other, ask) for other in asks))


def _is_within(small: Ask, large: Ask) -> bool:
    most = dict(large)
    return all(amount <= most.get(key, 0) for key, amount in small)
