"""One group's workloads, sorted by state; immutable, and cheap to change by one workload.

A WorkloadSet does not know the time: a workload with a `not_before` stays in `backing_off` after that moment too.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from shared.api.names import MAIN_POD_SET
from shared.quota.measure.inputs.shapes import NO_SHAPES, ShapeChange, Shapes
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Flavors, PreemptorId, ResourceFlavors, Workload, WorkloadId, namespace_of
from shared.resources import Amount, FlavorResource, key_of

WorkloadChange = tuple[Workload | None, Workload | None]
"""(before, after) of one workload: None before it appears, None after it is deleted."""

UseByCreator = Mapping[tuple[str, str], Amounts]
"""(namespace, user) -> resource -> what their admitted workloads use, over all flavors."""

QueuePlace = tuple[int, datetime, datetime, str, str]
KINDS: Final = ("Job", "Pod", "PodGroup")


class KeyUse(NamedTuple):
    """What admitted workloads use of one key, and the part of it that cannot be reclaimed."""

    used: Amount = 0
    non_preemptible: Amount = 0


NO_USE: Final = KeyUse()


def queue_order(workload: Workload) -> QueuePlace:
    """Return the sort key of a leaf's queue: priority from high to low, then queued, created, key, uid."""
    return (-workload.priority, workload.queued, workload.created, workload.key, workload.uid)


def amounts_in(workload: Workload, flavors: Flavors) -> Iterator[tuple[FlavorResource, Amount]]:
    """Return what each pod set requests, by key, in these flavors; resources without a flavor are not counted."""
    if not workload.pod_sets:
        return _amounts_of_set(workload.request, flavors.get(MAIN_POD_SET, {}))
    sets = (_amounts_of_set(each.request, flavors.get(each.name, {})) for each in workload.pod_sets)
    return chain.from_iterable(sets)


def _amounts_of_set(request: Amounts, own: ResourceFlavors) -> Iterator[tuple[FlavorResource, Amount]]:
    for resource, amount in request.items():
        flavor = own.get(resource)
        if flavor is not None and amount > 0:
            yield key_of(flavor, resource), amount


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadSet:
    """One group's workloads. Every tuple is in the order of `queue_order`."""

    queue: tuple[Workload, ...] = ()
    """Pending; not on hold, not deactivated, without a back-off."""
    backing_off: tuple[Workload, ...] = ()
    """Pending with a `not_before`, past or not."""
    set_aside: tuple[Workload, ...] = ()
    """On hold by its owner, or deactivated."""
    admitted: tuple[Workload, ...] = ()
    """Admitted and not being evicted."""
    unready: tuple[Workload, ...] = ()
    """Those of `admitted` whose pods are not all ready."""
    declaring: tuple[Workload, ...] = ()
    """Those of `admitted` that declare how long they run."""
    noticed: tuple[Workload, ...] = ()
    """The workloads of `admitted` that have notice of their eviction."""
    evicting: tuple[Workload, ...] = ()
    """Admitted, being evicted; its pods have not all ended."""
    with_turn: tuple[Workload, ...] = ()
    """Those on which a turn is written, in whatever state."""
    by_id: Mapping[WorkloadId, Workload] = field(default_factory=lambda: MappingProxyType({}))
    shapes: Shapes = NO_SHAPES
    """The preemptible workloads of `queue`, by shape."""
    non_preemptible_shapes: Shapes = NO_SHAPES
    """The workloads of `queue` that are not preemptible, by shape."""
    use: Mapping[FlavorResource, KeyUse] = field(default_factory=lambda: MappingProxyType({}))
    """key -> what admitted and evicting workloads use; only keys of which something is used."""
    use_by_creator: UseByCreator = field(default_factory=lambda: MappingProxyType({}))
    """The same by who created them; only those who use something."""

    @staticmethod
    def of(workloads: Iterable[Workload]) -> "WorkloadSet":
        """Sort `workloads` into a set; the last of two with one id wins."""
        return EMPTY.with_changes((None, workload) for workload in workloads)

    def with_changes(self, changes: Iterable[WorkloadChange]) -> "WorkloadSet":
        """Return this set after `changes`: what was there under the same id is replaced."""
        draft = _WorkloadSetDraft(self)
        for before, after in changes:
            if before is not None:
                draft.remove(before.id)
            if after is not None:
                draft.remove(after.id)
                draft.add(after)
        return draft.done()

    def find(self, key: str, preemptor: PreemptorId) -> Workload | None:
        """Return the workload of that name that is this preemptor, of whatever kind."""
        for kind in KINDS:
            found = self.by_id.get(WorkloadId(kind, key))
            if found is not None and found.preemptor_id == preemptor:
                return found
        return None


EMPTY: Final = WorkloadSet()
_LISTS: Final = (
    "queue", "backing_off", "set_aside", "admitted", "unready", "declaring", "noticed", "evicting", "with_turn",
)  # fmt: skip
_MANY: Final = 32
"""Above so many additions to one list, sorting it is cheaper than inserting one by one."""


def lists_of(workload: Workload) -> tuple[str, ...]:
    """Return the names of the tuples that `workload` belongs in."""
    return _lists_by_state(workload) if workload.turn is None else (*_lists_by_state(workload), "with_turn")


def _lists_by_state(workload: Workload) -> tuple[str, ...]:
    if workload.admission is not None:
        if workload.eviction is not None:
            return ("evicting",)
        unready = () if workload.admission.ready else ("unready",)
        declaring = () if workload.max_run_time is None else ("declaring",)
        return ("admitted", *unready, *declaring, *(() if workload.notice is None else ("noticed",)))
    if workload.hold or workload.deactivated:
        return ("set_aside",)
    if workload.not_before is not None:
        return ("backing_off",)
    return ("queue",)


class _WorkloadSetDraft:
    """The next set while it is being built; copies a list only when that list changes."""

    def __init__(self, workload_set: WorkloadSet) -> None:
        self._workload_set = workload_set
        self._lists: dict[str, list[Workload]] = {}
        self._added: dict[str, list[Workload]] = {}
        self._by_id = dict(workload_set.by_id)
        self._counted: dict[bool, list[ShapeChange]] = {True: [], False: []}
        """whether preemptible -> pending workloads that come to count, or no longer do."""
        self._use = dict(workload_set.use)
        self._use_by_creator = dict(workload_set.use_by_creator)

    def add(self, workload: Workload) -> None:
        """Add `workload`, whose id is not in use, to its lists."""
        self._by_id[workload.id] = workload
        for name in lists_of(workload):
            self._added.setdefault(name, []).append(workload)
        self._count(workload, 1)

    def remove(self, workload_id: WorkloadId) -> None:
        """Remove the workload of this id, if there is one."""
        workload = self._by_id.pop(workload_id, None)
        if workload is None:
            return
        for name in lists_of(workload):
            fresh = self._added.get(name, [])
            place = next((index for index, each in enumerate(fresh) if each is workload), None)
            if place is not None:
                del fresh[place]
                continue
            found = self._list(name)
            place = bisect_left(found, queue_order(workload), key=queue_order)
            while found[place] is not workload:
                place += 1
            del found[place]
        self._count(workload, -1)

    def done(self) -> WorkloadSet:
        """Return the finished set."""
        for name, fresh in self._added.items():
            found = self._list(name)
            if len(fresh) < _MANY:
                for workload in fresh:
                    insort(found, workload, key=queue_order)
            else:
                found.extend(fresh)
                found.sort(key=queue_order)
        lists = {
            name: tuple(self._lists[name]) if name in self._lists else getattr(self._workload_set, name)
            for name in _LISTS
        }
        return WorkloadSet(
            **lists,
            by_id=self._by_id,
            shapes=self._workload_set.shapes.after(self._counted[True]),
            non_preemptible_shapes=self._workload_set.non_preemptible_shapes.after(self._counted[False]),
            use=self._use,
            use_by_creator=self._use_by_creator,
        )

    def _list(self, name: str) -> list[Workload]:
        if name not in self._lists:
            self._lists[name] = list(getattr(self._workload_set, name))
        return self._lists[name]

    def _count(self, workload: Workload, times: int) -> None:
        if workload.admission is not None:
            creator = namespace_of(workload.key), workload.user
            own = dict(self._use_by_creator.pop(creator, {}))
            for key, amount in amounts_in(workload, workload.admission.flavors):
                own[key.resource] = own.get(key.resource, 0) + times * amount
                used, non_preemptible = self._use.get(key, NO_USE)
                use = KeyUse(
                    used + times * amount, non_preemptible if workload.preemptible else non_preemptible + times * amount
                )
                if use.used:
                    self._use[key] = use
                else:
                    del self._use[key]
            own = {resource: amount for resource, amount in own.items() if amount}
            if own:
                self._use_by_creator[creator] = own
        elif "queue" in lists_of(workload):
            self._counted[workload.preemptible].append((workload, times))
