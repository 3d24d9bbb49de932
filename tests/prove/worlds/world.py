"""Random closed worlds: a small tree, a handful of work that never ends by itself, and a few disturbances in time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import (
    BlockAdmission,
    QueueAge,
    QuotaSettings,
    ReclaimMode,
    ReclaimSettings,
    StartupSettings,
)
from shared.quota.model.tree import (
    ROOT,
    Amounts,
    Entry,
    Group,
    Preemption,
    QueueingStrategy,
    ReclaimOverrides,
    StopPolicy,
    Tree,
    WhenCanBorrow,
    WhenCanReclaim,
)
from shared.quota.model.workload import Admission, Workload
from shared.resources import FlavorResource
from tests.builders import in_main
from tests.prove.random_draw import Dice
from tests.prove.worlds.requesters import by_requester, with_order
from tests.prove.worlds.windows import opening_minutes
from tests.shared.quota.reference.inputs import EPOCH

STEP = timedelta(seconds=10)
"""The time between two cycles."""


@dataclass(frozen=True)
class Life:
    """One workload's fate as far as Quotree does not decide it: cycles are counted from 0."""

    work: Workload
    arrives: int = 0
    leaves: int | None = None
    stops_in: int = 1
    """How many cycles its pods need to end after an eviction; 1: they have ended before the next cycle."""
    ready_in: int | None = 0
    """How many cycles after a start its pods are all ready; None: never. Matters only where starts wait for that."""
    answered_in: int = 1
    """How many cycles after a start the Job controller answers it; 1: before the next cycle."""
    runs_for: int | None = None
    """How many cycles after a start it finishes; None: it never ends by itself."""
    reordered: tuple[int, int] | None = None
    """(cycle, priority): from that cycle on its label says so, whether it waits or runs; None: it stays as it is."""


@dataclass(frozen=True)
class Loss:
    """The capacity of a key from that cycle on; when nodes come back, more than before."""

    at: int
    key: FlavorResource
    left: int


@dataclass(frozen=True)
class Edit:
    """From that cycle on a group reads so."""

    at: int
    group: Group


@dataclass(frozen=True)
class Resize:
    """From that cycle on a flavor's nodes that take pods are of these sizes."""

    at: int
    flavor: str
    sizes: tuple[Amounts, ...]


@dataclass(frozen=True)
class Cordon:
    """From that cycle on, one of so many parts of what then runs of these workloads is on nodes that take no pods."""

    at: int
    work: frozenset[str]
    parts: int = 1


@dataclass(frozen=True)
class ClosedWorld:
    """A world and all that will ever happen to it from outside."""

    tree: Tree
    capacity: Mapping[FlavorResource, int]
    lives: tuple[Life, ...]
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    losses: tuple[Loss, ...] = ()
    edits: tuple[Edit, ...] = ()
    sizes: Mapping[str, tuple[Amounts, ...]] = field(default_factory=dict)
    """flavor -> the sizes of its nodes; a flavor that is not in it has nodes of any size."""
    resizes: tuple[Resize, ...] = ()
    cordons: tuple[Cordon, ...] = ()

    @property
    def flavors(self) -> tuple[Flavor, ...]:
        """One plain flavor per name in the capacity."""
        return tuple(Flavor(name) for name in sorted({key.flavor for key in self.capacity}))

    @property
    def last_event(self) -> int:
        """The last cycle in which something happens from outside."""
        times = [life.arrives for life in self.lives] + [life.leaves or 0 for life in self.lives]
        times += [life.reordered[0] for life in self.lives if life.reordered is not None]
        times += [each.at for each in self.resizes]
        return max(
            [
                0,
                *times,
                *(loss.at for loss in self.losses),
                *(edit.at for edit in self.edits),
                *(cordon.at for cordon in self.cordons),
                *(each.at for each in self.resizes),
                *(-(-(each.end - EPOCH) // STEP) for group in self.tree.groups.values() for each in group.overrides),
                *(
                    -(-(minute + each.duration - EPOCH) // STEP)
                    for group in self.tree.groups.values()
                    for each in group.windows
                    for minute in opening_minutes(each)
                ),
            ]
        )


def random_world(dice: Dice) -> ClosedWorld:
    """One to three levels, one or two flavors and resources, two to ten workloads."""
    keys = _keys(dice)
    size = dice.one_of((4, 6, 8, 10, 16))
    capacity = {key: dice.between(size // 2, size) for key in keys}
    tree = _tree(dice, keys, capacity)
    leaves = tree.leaves_below(ROOT)
    least = max(1, min(capacity.values()))
    largest = dice.one_of((least, least // 2 + 1, least // 2 + 1, least // 3 + 1))
    awakes = {leaf: dice.one_of((0, 0, 1, 3)) for leaf in leaves}
    lives = tuple(random_life(dice, tree, awakes, keys, largest, number) for number in range(dice.between(2, 10)))
    losses = tuple(
        Loss(dice.between(1, 8), key, dice.between(0, amount * 5 // 4))
        for key, amount in (*capacity.items(), *capacity.items())
        if dice.chance(8)
    )
    edits = _edits(dice, tree.groups[dice.one_of(leaves)]) if dice.chance(10) else ()
    return in_turns(dice, impatient(dice, ClosedWorld(tree, capacity, lives, random_settings(dice), losses, edits)))


def in_turns(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; in some worlds, leaves in which namespaces or users take turns. Drawn last: the rest stays."""
    if not dice.chance(20):
        return world
    orders = {name: with_order(dice, group) for name, group in sorted(world.tree.groups.items())}

    def changed(group: Group) -> Group:
        found = orders[group.name]
        return replace(group, order=found.order, order_weights=found.order_weights)

    lives = tuple(replace(each, work=by_requester(dice, each.work)) for each in world.lives)
    edits = tuple(replace(each, group=changed(each.group)) for each in world.edits)
    return replace(world, tree=Tree.of(orders.values()), lives=lives, edits=edits)


def reordered(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; in some worlds, owners change priorities while their work waits or runs. Drawn last: the rest stays."""
    if not dice.chance(20):
        return world
    lives = (
        replace(each, reordered=(each.arrives + dice.between(1, 10), dice.between(-1, 3))) if dice.chance(40) else each
        for each in world.lives
    )
    return replace(world, lives=tuple(lives))


def with_cordons(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; in some worlds, nodes are cordoned under what runs. Drawn last: the rest stays."""
    if not dice.chance(15):
        return world
    keys = [each.work.key for each in world.lives]
    cordons = (
        Cordon(dice.one_of((0, 0, 1, 3, 9)), frozenset(key for key in keys if dice.chance(50)), dice.one_of((1, 1, 2)))
        for _ in range(dice.between(1, 2))
    )
    return replace(world, cordons=tuple(cordons))


def impatient(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    """The same; in some worlds, queues whose heads are passed only for a while. Drawn last: the rest stays."""
    if not dice.chance(25):
        return world
    patience = {name: STEP * dice.between(0, 6) for name in sorted(world.tree.groups) if dice.chance(60)}

    def changed(group: Group) -> Group:
        return replace(group, patience=patience.get(group.name))

    edits = tuple(replace(each, group=changed(each.group)) for each in world.edits)
    return replace(world, tree=Tree.of(map(changed, world.tree.groups.values())), edits=edits)


def _keys(dice: Dice) -> tuple[FlavorResource, ...]:
    flavors = ("a", "b")[: dice.one_of((1, 1, 2))]
    resources = ("cpu", "nvidia.com/gpu")[: dice.one_of((1, 1, 2))]
    if len(flavors) == len(resources) == 2 and dice.chance(25):
        return tuple(FlavorResource(*pair) for pair in zip(flavors, resources, strict=True))
    return tuple(FlavorResource(flavor, resource) for flavor in flavors for resource in resources)


def random_settings(dice: Dice) -> QuotaSettings:
    return QuotaSettings(
        reclaim=ReclaimSettings(
            mode=ReclaimMode.STRICT if dice.chance(25) else ReclaimMode.ON_DEMAND,
            grace_period=_delay(dice),
            notice=_delay(dice),
            exempt_after_start=_delay(dice),
            claim_timeout=timedelta(seconds=30) if dice.chance(10) else timedelta(minutes=5),
        ),
        queue_age=QueueAge.CREATION if dice.chance(25) else QueueAge.EVICTION,
        startup=_startup(dice) if dice.chance(12) else StartupSettings(),
    )


def _startup(dice: Dice) -> StartupSettings:
    """Starts that must become ready in time, and are given up after a few tries."""
    return StartupSettings(
        wait_for_pods_ready=True,
        block_admission=dice.one_of(tuple(BlockAdmission)),
        timeout=STEP * dice.between(1, 3),
        backoff_base=STEP * dice.between(1, 2),
        backoff_max=STEP * 2,
        limit=dice.between(1, 3),
    )


def _delay(dice: Dice) -> timedelta:
    return STEP * dice.between(1, 4) if dice.chance(12) else timedelta()


def _tree(dice: Dice, keys: tuple[FlavorResource, ...], capacity: Mapping[FlavorResource, int]) -> Tree:
    groups: list[Group] = []
    left = {ROOT: {key: amount * dice.one_of((100, 100, 100, 120, 60)) // 100 for key, amount in capacity.items()}}
    depth = {ROOT: 0}
    levels = dice.one_of((1, 1, 2, 2, 3))
    for number in range(dice.between(2, 2 + 2 * levels)):
        above = [ROOT, *(group.name for group in groups if group.is_parent)]
        parent = dice.one_of([name for name in above if depth[name] < levels])
        name = f"g{number}"
        depth[name] = depth[parent] + 1
        group, left[name] = random_group(dice, name, parent, keys, left[parent])
        groups.append(replace(group, is_parent=depth[name] < levels and dice.chance(50)))
    if all(group.is_parent for group in groups):
        groups[-1] = replace(groups[-1], is_parent=False)
    return Tree.of(groups)


def random_group(
    dice: Dice, name: str, parent: str, keys: tuple[FlavorResource, ...], left: dict[FlavorResource, int]
) -> tuple[Group, dict[FlavorResource, int]]:
    """A group and what it may promise to its children; what it was promised is taken from `left`."""
    promised = {
        key: 0 if dice.chance(20) else dice.between(0, max(0, dice.one_of((most, most * 2 // 3, most // 3))))
        for key, most in left.items()
    }
    for key, amount in promised.items():
        left[key] -= amount
    flavors = sorted({key.flavor for key in keys if key in left})
    if len(flavors) > 1 and dice.chance(12):
        flavors.remove(dice.one_of(flavors))
    if dice.chance(15):
        flavors.reverse()
    group = Group(
        name,
        parent=parent,
        quotas=tuple(
            _entry(dice, flavor, [key for key in keys if key.flavor == flavor], promised) for flavor in flavors
        ),
        allow_lending=not dice.chance(6),
        queueing=QueueingStrategy.STRICT_FIFO if dice.chance(20) else QueueingStrategy.BEST_EFFORT_FIFO,
        preemption=Preemption.NEVER if dice.chance(20) else Preemption.LOWER_PRIORITY,
        when_can_borrow=WhenCanBorrow.TRY_NEXT_FLAVOR if dice.chance(30) else WhenCanBorrow.BORROW,
        when_can_reclaim=WhenCanReclaim.RECLAIM if dice.chance(30) else WhenCanReclaim.TRY_NEXT_FLAVOR,
        reclaim=_overrides(dice) if dice.chance(8) else ReclaimOverrides(),
    )
    return group, {key: amount for key, amount in promised.items() if key.flavor in flavors}


def _overrides(dice: Dice) -> ReclaimOverrides:
    return ReclaimOverrides(
        mode=dice.one_of((None, *ReclaimMode)),
        grace_period=dice.one_of((None, timedelta(), STEP * 2)),
        exempt_after_start=dice.one_of((None, timedelta(), STEP * 3)),
    )


def _entry(dice: Dice, flavor: str, keys: list[FlavorResource], promised: dict[FlavorResource, int]) -> Entry:
    def some(percent: int, low: int, high: int) -> dict[str, int]:
        return {key.resource: dice.between(low, high) for key in keys if dice.chance(percent)}

    low = {key.resource: promised[key] for key in keys}
    return Entry(
        flavor,
        min=low,
        max={name: low[name] + extra for name, extra in some(12, 0, 8).items()},
        borrowing_limit=some(7, 0, 6),
        lending_limit={name: min(low[name], limit) for name, limit in some(12, 0, 6).items()},
        weight=some(30, 0, 2),
    )


def random_life(  # noqa: PLR0917
    dice: Dice, tree: Tree, awakes: Mapping[str, int], keys: tuple[FlavorResource, ...], largest: int, number: int
) -> Life:
    leaf = dice.one_of(sorted(awakes))
    resources = sorted({key.resource for key in keys})
    wanted = [name for name in resources if dice.chance(75)] or resources[:1]
    arrives = awakes[leaf] + dice.one_of((0, 0, 0, 1, 4))
    preemptible = not dice.chance(20)
    amounts = (1, 1, 2, largest, dice.between(1, largest)) if preemptible else (1, 1, 2)
    born = EPOCH + STEP * arrives - timedelta(seconds=dice.between(0, 9))
    work = Workload(
        key=f"ns/w{number}",
        uid=f"uid-{number}",
        group=leaf,
        request={name: min(largest, dice.one_of(amounts)) for name in wanted},
        created=born,
        queued=born,
        priority=dice.one_of((0, 0, 1, 2)),
        preemptible=preemptible,
        only_flavor=dice.one_of(keys).flavor if dice.chance(5) else None,
    )
    return Life(
        work=_running(dice, tree, work) if dice.chance(20) else work,
        arrives=arrives,
        leaves=arrives + dice.between(1, 8) if dice.chance(8) else None,
        stops_in=dice.one_of((1, 1, 1, 2, 3)),
        ready_in=dice.one_of((0, 0, 1, 2, None)),
        answered_in=dice.one_of((1, 1, 1, 2, 3)),
    )


def _running(dice: Dice, tree: Tree, work: Workload) -> Workload:
    """The same work, running from before the beginning in some flavors of its leaf, whether that is legal or not."""
    entries = [entry for entry in tree[work.group].quotas if work.only_flavor in (None, entry.flavor)]
    offered = {name: [entry.flavor for entry in entries if name in entry.covered] for name in work.request}
    if not all(offered.values()):
        return work
    start = dice.between(0, 1)
    flavors = {name: found[min(start, len(found) - 1)] for name, found in offered.items()}
    return replace(work, admission=Admission(in_main(flavors), work.created, ready=True, was_ready=True))


def _edits(dice: Dice, group: Group) -> tuple[Edit, ...]:
    """A leaf's max lowered to its min, its min taken away, or the leaf stopped and, perhaps, opened again."""
    at = dice.between(1, 6)
    kind = dice.between(0, 2)
    if kind == 0:
        policy = dice.one_of((StopPolicy.CLOSE, StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN))
        stopped = Edit(at, replace(group, stop_policy=policy))
        return (stopped, Edit(at + dice.between(1, 4), group)) if dice.chance(60) else (stopped,)
    quotas = tuple(
        replace(entry, min=dict.fromkeys(entry.min, 0), lending_limit={})
        if kind == 1
        else replace(entry, max=entry.min)
        for entry in group.quotas
    )
    return (Edit(at, replace(group, quotas=quotas)),)
