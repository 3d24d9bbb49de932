"""How much each group has used in the past: the recent past counts most, what is one half-life ago counts half.

Amounts are in base units times milliseconds, decayed to a moment that all groups share, `as_of`: decay changes no
ratio, so only what groups use is added until the next one. A parent's past use is the sum of its children's.

The past use of namespaces or users in a leaf whose order is by these is kept in the same way, for that leaf alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from math import isqrt
from typing import Final

from shared.api.durations import later
from shared.quota.measure.inputs.requester_use import KEPT_REQUESTERS, RequesterUse, current_use, keep_largest, with_use
from shared.quota.measure.inputs.workload_set import KeyUse
from shared.quota.measure.inputs.world import PastUse, World
from shared.quota.model.tree import SYSTEM, Amounts, QueueOrder
from shared.resources import Amount, FlavorResource

_MILLISECOND: Final = timedelta(milliseconds=1)
_BITS: Final = 64
_STEPS: Final = 24
PERIODS: Final = 60
"""All amounts are brought to a new `as_of` so many times in one half-life."""


def roots_of_half() -> tuple[int, ...]:
    """Return 2^(-1/2), 2^(-1/4), 2^(-1/8), … in units of 2^-64, rounded down."""
    found = [1 << (_BITS - 1)]
    for _ in range(_STEPS):
        found.append(isqrt(found[-1] << _BITS))
    return tuple(found[1:])


_ROOTS: Final = roots_of_half()


def decayed(amount: Amount, elapsed: timedelta, half_life: timedelta) -> Amount:
    """Return what is left of `amount` after `elapsed`, rounded down; exact arithmetic, equal on every machine."""
    factor, bits = remaining(elapsed, half_life)
    return amount * factor >> bits


@lru_cache(maxsize=256)
def remaining(elapsed: timedelta, half_life: timedelta) -> tuple[int, int]:
    """Return (factor, bits): what is left of any amount after `elapsed` is amount * factor >> bits."""
    halvings, rest = divmod(max(elapsed, timedelta()), half_life)
    factor = 1 << _BITS
    for root in _ROOTS:
        rest *= 2
        if rest >= half_life:
            rest -= half_life
            factor = factor * root >> _BITS
    return factor, _BITS + halvings


@dataclass(frozen=True, slots=True)
class _Running:
    """What one leaf uses, and since when that has not been added to its past use."""

    use: Mapping[FlavorResource, KeyUse]
    since: datetime
    requesters: Mapping[str, Amounts]
    """The same by requester, where the leaf's order has some."""


@dataclass(frozen=True, slots=True)
class UseHistory:
    """The past use of all groups, and what has to be added to it; immutable."""

    half_life: timedelta
    amounts: PastUse = field(default_factory=dict)
    requesters: RequesterUse = field(default_factory=dict)
    as_of: datetime | None = None
    shortest: timedelta = timedelta(seconds=1)
    """All amounts are brought to a new `as_of` no sooner than so long after the last one."""
    _running: Mapping[str, _Running] = field(default_factory=dict)
    _world: World | None = None

    @staticmethod
    def read(
        half_life: timedelta, leaves: PastUse, as_of: datetime, requesters: RequesterUse | None = None
    ) -> "UseHistory":
        """Return the history in which leaves, and requesters in them, had this past use at that moment."""
        return UseHistory(half_life, leaves, requesters or {}, as_of)

    @staticmethod
    def in_world(world: World, as_of: datetime) -> "UseHistory":
        """Return the history that the world has at that moment."""
        return UseHistory.read(world.settings.fairness_half_life, world.past_use, as_of, world.requester_use)

    def put_into(self, world: World) -> World:
        """Return the world with this history; the same object if it has it already."""
        if world.past_use is self.amounts and world.requester_use is self.requesters:
            return world
        return replace(world, past_use=self.amounts, requester_use=self.requesters)

    @property
    def next_change(self) -> datetime | None:
        """When what runs now has to be added; None while nothing runs."""
        return self.as_of if self._running else None

    def after(self, world: World, now: datetime) -> "UseHistory":
        """Add what was used until `now`; from now on, what `world` uses counts. Costs what changed, mostly."""
        if not self.half_life:
            return self
        if self.as_of is None or self._world is None or now >= self.as_of or world.tree is not self._world.tree:
            return self._renewed(world, now)
        changed = world.changed_since(self._world)
        if not changed:
            return self
        draft, running = _Draft(self.amounts), dict(self._running)
        requesters = dict(self.requesters)
        for name in sorted(changed):
            self._add(draft, world, name, now)
            self._add_requesters(requesters, name, now)
            _record(running, world, name, now)
        return replace(self, amounts=draft.done(), requesters=requesters, _running=running, _world=world)

    def _add(self, draft: "_Draft", world: World, name: str, until: datetime) -> None:
        """Add what the leaf used since it was recorded, at the leaf and at all groups above it."""
        known = self._running.get(name)
        if known is None or self.as_of is None:
            return
        elapsed = max(0, (until - known.since) // _MILLISECOND)
        for key, use in known.use.items():
            amount = decayed(use.used * elapsed, self.as_of - until, self.half_life)
            for group in world.tree.path(name):
                draft.add(group, key, amount)

    def _add_requesters(self, requesters: dict[str, Mapping[str, Amounts]], name: str, until: datetime) -> None:
        """Add what the requesters of the leaf used since it was recorded."""
        known = self._running.get(name)
        if known is None or self.as_of is None or not known.requesters:
            return
        elapsed = max(0, (until - known.since) // _MILLISECOND)
        used = _left(known.requesters, elapsed, remaining(self.as_of - until, self.half_life))
        requesters[name] = with_use(requesters.get(name, {}), used)

    def _renewed(self, world: World, now: datetime) -> "UseHistory":
        """Bring everything to a new `as_of`, and sum the parents again."""
        as_of = later(now, max(self.half_life / PERIODS, self.shortest))
        fresh = replace(self, as_of=as_of)
        draft = _Draft({})
        for name, by_key in self.amounts.items():
            if name in world.tree and not world.tree[name].is_parent:
                for key, amount in by_key.items():
                    left = decayed(amount, as_of - (self.as_of or now), self.half_life)
                    for group in world.tree.path(name):
                        draft.add(group, key, left)
        running: dict[str, _Running] = {}
        requesters = self._decayed_requesters(as_of - (self.as_of or now))
        for name in self._running:
            fresh._add(draft, world, name, now)
            fresh._add_requesters(requesters, name, now)
        for name in world.workload_sets:
            _record(running, world, name, now)
        bounded = {
            name: keep_largest(own, KEPT_REQUESTERS)
            for name, own in requesters.items()
            if name in world.tree and world.tree[name].order is not QueueOrder.AGE
        }
        return replace(fresh, amounts=draft.done(), requesters=bounded, _running=running, _world=world)

    def _decayed_requesters(self, elapsed: timedelta) -> dict[str, Mapping[str, Amounts]]:
        left = remaining(elapsed, self.half_life)
        return {name: _left(own, 1, left) for name, own in self.requesters.items()}


def _record(running: dict[str, _Running], world: World, name: str, now: datetime) -> None:
    use = world.workloads_of(name).use
    if use and name != SYSTEM:
        group = world.tree.get(name)
        order = QueueOrder.AGE if group is None else group.order
        running[name] = _Running(use, now, current_use(order, world.workloads_of(name)))
    else:
        running.pop(name, None)


def _left(use: Mapping[str, Amounts], times: int, left: tuple[int, int]) -> dict[str, Amounts]:
    """Return each requester's use so many times, decayed as `remaining` says."""
    factor, bits = left
    return {
        name: {resource: amount * times * factor >> bits for resource, amount in own.items()}
        for name, own in use.items()
    }


class _Draft:
    """Amounts while they are being added to; a group's mapping is copied before it changes."""

    def __init__(self, amounts: PastUse) -> None:
        self._before = amounts
        self._changed: dict[str, dict[FlavorResource, Amount]] = {}

    def add(self, group: str, key: FlavorResource, amount: Amount) -> None:
        """Add `amount` to the past use of `group`."""
        if not amount:
            return
        own = self._changed.get(group)
        if own is None:
            own = self._changed[group] = dict(self._before.get(group, {}))
        own[key] = own.get(key, 0) + amount

    def done(self) -> PastUse:
        """Return the finished amounts; the same object when nothing was added."""
        return {**self._before, **self._changed} if self._changed else self._before
