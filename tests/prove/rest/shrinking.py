"""A smaller world with the same kind of flaw: parts are left out one after the other as long as the flaw remains."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from shared.quota.model.settings import QueueAge, ReclaimSettings, StartupSettings
from shared.quota.model.tree import (
    Entry,
    Group,
)
from shared.quota.model.workload import Workload
from tests.prove.worlds.pod_sets import with_pod_sets
from tests.prove.worlds.world import STEP, ClosedWorld, Life

_NAMES = re.compile(r"[0-9]+|'[^']*'|\{[^}]*\}|\[[^]]*\]|\b[gw][0-9]+\b|\b[ab]/\S+")


def kind_of(flaw: str) -> str:
    """The flaw without names and numbers: two worlds with one kind show the same thing."""
    return _NAMES.sub("#", flaw.split(", but: ", maxsplit=1)[0])[:90]


def shrunk(world: ClosedWorld, is_flawed: Callable[[ClosedWorld], bool], most: int = 4000) -> ClosedWorld:
    """The smallest world found in at most that many tries for which `is_flawed` still holds."""
    tries = 0
    found = True
    while found and tries < most:
        found = False
        for smaller in simpler(world):
            tries += 1
            if tries > most:
                break
            if is_flawed(smaller):
                world, found = smaller, True
                break
    return world


def simpler(world: ClosedWorld) -> Iterator[ClosedWorld]:
    """Worlds that are simpler in one thing, the greatest simplifications first."""
    for at in range(len(world.lives)):
        yield replace(world, lives=world.lives[:at] + world.lives[at + 1 :])
    for name in world.tree.groups:
        if (
            name != "root"
            and not world.tree.children(name)
            and not any(life.work.group == name for life in world.lives)
        ):
            yield replace(world, tree=world.tree.without(name), edits=())
    if world.losses:
        yield replace(world, losses=())
    if world.edits:
        yield replace(world, edits=())
    if world.cordons:
        yield replace(world, cordons=world.cordons[1:])
    yield from _simpler_nodes(world)
    yield from _simpler_settings(world)
    for at, life in enumerate(world.lives):
        for other in _simpler_lives(life):
            yield replace(world, lives=(*world.lives[:at], other, *world.lives[at + 1 :]))
    for group in world.tree.groups.values():
        for simple in _simpler_groups(group):
            yield replace(world, tree=world.tree.with_group(simple))
    for key, amount in world.capacity.items():
        if amount:
            yield replace(world, capacity={**world.capacity, key: amount - 1})


def _simpler_nodes(world: ClosedWorld) -> Iterator[ClosedWorld]:
    for flavor in world.sizes:
        yield replace(world, sizes={name: sizes for name, sizes in world.sizes.items() if name != flavor})
    if world.resizes:
        yield replace(world, resizes=world.resizes[1:])


def _simpler_settings(world: ClosedWorld) -> Iterator[ClosedWorld]:
    reclaim, plain = world.settings.reclaim, ReclaimSettings()
    for name in ("mode", "grace_period", "notice", "exempt_after_start", "claim_timeout"):
        if getattr(reclaim, name) != getattr(plain, name):
            simple = replace(reclaim, **{name: getattr(plain, name)})
            yield replace(world, settings=replace(world.settings, reclaim=simple))
    if world.settings.startup != StartupSettings():
        yield replace(world, settings=replace(world.settings, startup=StartupSettings()))
    if world.settings.queue_age is not QueueAge.EVICTION:
        yield replace(world, settings=replace(world.settings, queue_age=QueueAge.EVICTION))


def _simpler_lives(life: Life) -> Iterator[Life]:
    if life.reordered is not None:
        yield replace(life, reordered=None)
    if life.leaves is not None:
        yield replace(life, leaves=None)
    if life.arrives:
        yield _earlier(life, life.arrives)
        yield _earlier(life, 1)
    if life.ready_in != 0:
        yield replace(life, ready_in=0)
    if life.answered_in > 1:
        yield replace(life, answered_in=1)
    if life.stops_in > 1:
        yield replace(life, stops_in=life.stops_in - 1)
    yield from (replace(life, work=work) for work in _simpler_work(life.work))


def _earlier(life: Life, cycles: int) -> Life:
    """The same life begun that many cycles before; nothing may be older than its own arrival."""
    work = life.work
    created = work.created - STEP * cycles
    admission = work.admission and replace(work.admission, since=created)
    work = replace(work, created=created, queued=created, admission=admission)
    return replace(life, arrives=life.arrives - cycles, work=work)


def _simpler_work(work: Workload) -> Iterator[Workload]:
    if work.admission is not None:
        yield replace(work, admission=None)
    if not work.preemptible:
        yield replace(work, preemptible=True)
    if work.priority:
        yield replace(work, priority=work.priority - 1)
    if work.pods > 1:
        yield replace(work, pods=1)
    if work.max_run_time is not None:
        yield replace(work, max_run_time=None)
    if work.only_flavor is not None:
        yield replace(work, only_flavor=None)
    for at in range(len(work.pod_sets)):
        yield with_pod_sets(work, (*work.pod_sets[:at], *work.pod_sets[at + 1 :]))
    if work.pod_sets:
        return
    if len(work.request) > 1:
        for name in work.request:
            rest = {each: amount for each, amount in work.request.items() if each != name}
            admission = work.admission and replace(
                work.admission,
                flavors={
                    name: {each: own[each] for each in rest if each in own}
                    for name, own in work.admission.flavors.items()
                },
            )
            yield replace(work, request=rest, admission=admission)
    for name, amount in work.request.items():
        if amount > 1:
            yield replace(work, request={**work.request, name: amount - 1})


def _simpler_groups(group: Group) -> Iterator[Group]:
    plain = Group("plain")
    for name in (
        "queueing",
        "preemption",
        "when_can_borrow",
        "when_can_reclaim",
        "allow_lending",
        "reclaim",
        "max_run_time",
        "stop_policy",
    ):
        if getattr(group, name) != getattr(plain, name):
            yield replace(group, **{name: getattr(plain, name)})
    for at, entry in enumerate(group.quotas):
        for simple in _simpler_entries(entry):
            yield replace(group, quotas=(*group.quotas[:at], simple, *group.quotas[at + 1 :]))


def _simpler_entries(entry: Entry) -> Iterator[Entry]:
    for name in ("max", "borrowing_limit", "lending_limit", "weight"):
        limits: Mapping[str, int] = getattr(entry, name)
        for resource in limits:
            rest = {each: amount for each, amount in limits.items() if each != resource}
            yield replace(entry, **{name: rest})  # type: ignore[arg-type]
