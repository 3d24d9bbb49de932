"""Random inputs for the arithmetic: legal trees of any shape, with zeros, absent and huge numbers, and workloads."""

from dataclasses import dataclass, replace
from datetime import timedelta

from shared.api.core.placement import ANYWHERE
from shared.api.names import MAIN_POD_SET
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import ROOT, SYSTEM, Entry, Group, QueueOrder, StopPolicy, Tree
from shared.quota.model.workload import Admission, Claim, Eviction, EvictionReason, Turn, Workload
from shared.resources import FlavorResource
from tests.builders import in_main
from tests.prove.numbers.closed_nodes import with_closed_nodes
from tests.prove.numbers.counts import COUNTS, counting, drawn_counts
from tests.prove.numbers.percents import with_percents
from tests.prove.numbers.placements import random_flavor, random_nodes, random_placement
from tests.prove.random_draw import Dice
from tests.prove.worlds.pod_sets import in_sets, random_pod_sets
from tests.prove.worlds.requesters import NAMESPACES, USERS, by_requester, with_order
from tests.shared.quota.reference.inputs import EPOCH, ReferenceInputs

RESOURCES = ("cpu", "memory", "gpu")
FLAVORS = ("a", "b", "c")
SCALES = (3, 20, 20, 1000, 2**61)


@dataclass(frozen=True)
class Shape:
    """What is the same for all groups: which flavors cover what, and how large numbers are."""

    covered: dict[str, tuple[str, ...]]
    scale: int

    @property
    def keys(self) -> tuple[FlavorResource, ...]:
        return tuple(FlavorResource(flavor, resource) for flavor, names in self.covered.items() for resource in names)


def random_inputs(dice: Dice, *, groups: int = 40, work: int = 30) -> ReferenceInputs:
    """Inputs with at most that many groups and workloads."""
    shape = random_shape(dice)
    from_groups = dice.chance(15)
    tree = random_tree(dice, shape, groups)
    from_nodes = not from_groups and dice.chance(25)
    by_hand = 0 if from_groups else 20 if from_nodes else 95
    inputs = ReferenceInputs(
        tree=tree,
        workloads=random_work(dice, shape, tree, work),
        capacity={key: _amount(dice, shape.scale * 2) for key in shape.keys if dice.chance(by_hand)},
        nodes=random_nodes(dice, shape.scale) if from_nodes else (),
        unmanaged={}
        if from_groups
        else {key: _amount(dice, shape.scale // 4) for key in shape.keys if dice.chance(20)},
        flavors={name: random_flavor(dice, name) for name in shape.covered},
        settings=QuotaSettings(capacity_source=CapacitySource.GROUPS if from_groups else CapacitySource.NODES),
        past_use=random_past_use(dice, shape, tree) if dice.chance(60) else {},
    )
    inputs = in_turns(dice, inputs) if dice.chance(30) else inputs
    inputs = with_counts(dice, inputs) if dice.chance(30) else inputs
    inputs = replace(inputs, tree=with_percents(dice, inputs.tree)) if dice.chance(30) else inputs
    inputs = with_turns(dice, inputs) if dice.chance(50) else inputs
    return with_closed_nodes(dice, inputs) if inputs.nodes else inputs


def with_counts(dice: Dice, inputs: ReferenceInputs) -> ReferenceInputs:
    """The same in a tree in which some groups count pods and workloads."""
    tree = drawn_counts(dice, inputs.tree)
    unmanaged = dict(inputs.unmanaged)
    if not inputs.from_groups and dice.chance(40):
        unmanaged[FlavorResource(COUNTS, "pods")] = dice.between(0, 5)
    workloads = tuple(counting(tree, each) for each in inputs.workloads)
    return replace(inputs, tree=tree, workloads=workloads, unmanaged=unmanaged)


def in_turns(dice: Dice, inputs: ReferenceInputs) -> ReferenceInputs:
    """The same with leaves in which namespaces or users take turns. Drawn last: the rest stays."""
    groups = [with_order(dice, group) for _, group in sorted(inputs.tree.groups.items())]
    resources = sorted({name for each in inputs.workloads for name in each.request})
    past = {
        group.name: {
            who: {name: dice.between(0, 3) * 360_000 for name in resources if dice.chance(60)}
            for who in (*NAMESPACES, *USERS)
            if dice.chance(50)
        }
        for group in groups
        if group.order is not QueueOrder.AGE
    }
    is_claimed = any(each.claim is not None for each in inputs.workloads)
    workloads = inputs.workloads if is_claimed else tuple(by_requester(dice, each) for each in inputs.workloads)
    return replace(inputs, tree=Tree.of(groups), workloads=workloads, requester_use=past)


def with_turns(dice: Dice, inputs: ReferenceInputs) -> ReferenceInputs:
    """The same with turns written on some workloads, in flavors that these may take or not. Drawn last."""
    workloads = tuple(_with_turn(dice, inputs.tree, each) if dice.chance(40) else each for each in inputs.workloads)
    return replace(inputs, workloads=workloads)


def _with_turn(dice: Dice, tree: Tree, work: Workload) -> Workload:
    if work.admission is not None:
        flavors = work.admission.flavors
    else:
        entries = list(tree[work.group].quotas)
        entries = entries[dice.between(0, len(entries) - 1) :] if entries else []
        flavors = in_sets(work, {name: each.flavor for each in reversed(entries) for name in each.covered})
        flavors = {
            each.name: {name: flavor for name, flavor in flavors.get(each.name, {}).items() if each.request.get(name)}
            for each in work.sets
        }
        flavors = {name: own for name, own in flavors.items() if own}
    return replace(work, turn=Turn(flavors, work.queued + timedelta(minutes=dice.between(-1, 5))))


def random_past_use(dice: Dice, shape: Shape, tree: Tree) -> dict[str, dict[FlavorResource, int]]:
    """What some groups have used in the past, equal for some."""
    return {
        name: {key: dice.one_of((1, 1, 5, _amount(dice, shape.scale))) for key in shape.keys if dice.chance(60)}
        for name in sorted(tree.groups)
        if dice.chance(70)
    }


def random_shape(dice: Dice) -> Shape:
    """Resources in one or two codependent sets; each flavor covers one of the sets."""
    resources = RESOURCES[: dice.between(1, 3)]
    cut = dice.between(1, len(resources))
    sets = [part for part in (resources[:cut], resources[cut:]) if part]
    names = FLAVORS[: dice.between(len(sets), 3)]
    covered = {name: sets[at] if at < len(sets) else dice.one_of(sets) for at, name in enumerate(names)}
    return Shape(covered, dice.one_of(SCALES))


def random_tree(dice: Dice, shape: Shape, most: int) -> Tree:
    """A legal tree of at most five levels below root: parents have what children have, Σ min ≤ min."""
    groups: dict[str, Group] = {}
    if dice.chance(30):
        entries = [_root_entry(dice, shape, flavor) for flavor in shape.covered if dice.chance(60)]
        groups[ROOT] = Group(ROOT, parent=None, is_parent=True, quotas=tuple(entries))
    left: dict[str, dict[FlavorResource, int]] = {}
    depth = {ROOT: 0}
    for number in range(dice.between(1, most)):
        parents = [ROOT, *(name for name, group in groups.items() if group.is_parent and name != ROOT)]
        parent = dice.one_of([name for name in parents if depth[name] < 5])
        name = f"g{number:02}"
        depth[name] = depth[parent] + 1
        quotas = _quotas(dice, shape, groups.get(parent) if parent != ROOT else None, left.get(parent))
        groups[name] = _group(dice, name, parent, quotas, is_parent=dice.chance(45))
        left[name] = {
            FlavorResource(entry.flavor, each): entry.min.get(each, 0) for entry in quotas for each in entry.covered
        }
    if dice.chance(40):
        groups[SYSTEM] = Group(SYSTEM)
    return Tree.of(groups.values())


def _root_entry(dice: Dice, shape: Shape, flavor: str) -> Entry:
    return Entry(flavor, max={name: _amount(dice, shape.scale * 2) for name in shape.covered[flavor]})


def _group(dice: Dice, name: str, parent: str, quotas: tuple[Entry, ...], *, is_parent: bool) -> Group:
    policy = dice.one_of(tuple(StopPolicy)[1:])
    return Group(
        name,
        parent=parent,
        is_parent=is_parent,
        quotas=quotas,
        allow_lending=not dice.chance(15),
        stop_policy=policy if dice.chance(5) else StopPolicy.NONE,
    )


def _quotas(
    dice: Dice, shape: Shape, parent: Group | None, left: dict[FlavorResource, int] | None
) -> tuple[Entry, ...]:
    """Entries for some of the parent's flavors, in any order; what they promise is taken from `left`."""
    offered = list(shape.covered) if parent is None else [entry.flavor for entry in parent.quotas]
    chosen = [flavor for flavor in offered if dice.chance(85)] or offered[:1]
    if dice.chance(30):
        chosen.reverse()
    return tuple(_entry(dice, shape, flavor, left) for flavor in chosen)


def _entry(dice: Dice, shape: Shape, flavor: str, left: dict[FlavorResource, int] | None) -> Entry:
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    limits: tuple[dict[str, int], dict[str, int], dict[str, int]] = ({}, {}, {})
    for resource in shape.covered[flavor]:
        key = FlavorResource(flavor, resource)
        promised = _amount(dice, shape.scale if left is None else left.get(key, 0))
        has_max = dice.chance(45)
        if promised or not has_max or dice.chance(50):
            low[resource] = promised
        if has_max:
            high[resource] = promised + _amount(dice, shape.scale)
        if left is not None:
            left[key] = left.get(key, 0) - promised
        for limit, most, percent in zip(limits, (shape.scale, promised, shape.scale), (35, 45, 45), strict=True):
            if dice.chance(percent):
                limit[resource] = _amount(dice, most)
    return Entry(flavor, low, high, *limits)


def _amount(dice: Dice, most: int) -> int:
    """0, 1, all of it, or something between."""
    kind = dice.between(0, 9)
    if kind == 0 or most <= 0:
        return 0
    return most if kind == 1 else dice.between(0, most)


def random_work(dice: Dice, shape: Shape, tree: Tree, most: int) -> tuple[Workload, ...]:
    """Work in all states, in leaves and in system; some of it holds claims written on evicted work."""
    leaves = [name for name in tree.leaves_below(ROOT) if tree[name].quotas or name == SYSTEM]
    if not leaves:
        return ()
    work = [_workload(dice, shape, tree[dice.one_of(leaves)], number) for number in range(dice.between(0, most))]
    preemptors = [each for each in work if each.is_pending and each.group != SYSTEM]
    split = {each.key: _split(dice, each) if dice.chance(25) else each for each in work}
    others = [split[each.key] for each in preemptors]
    return tuple(_with_claim(dice, tree, split[each.key], others) for each in work)


def _split(dice: Dice, work: Workload) -> Workload:
    """The same work with several pod sets."""
    several = random_pod_sets(dice, work, placed=True)
    if work.admission is None:
        return several
    flavors = in_sets(several, work.admission.flavors[MAIN_POD_SET])
    return replace(several, admission=replace(work.admission, flavors=flavors))


def _workload(dice: Dice, shape: Shape, group: Group, number: int) -> Workload:
    choice = _choice(dice, shape, group)
    state = "running" if group.name == SYSTEM else dice.one_of(("pending", "pending", "running", "evicting"))
    admission = (
        Admission(in_main(choice), EPOCH - timedelta(minutes=dice.between(0, 9))) if state != "pending" else None
    )
    most = max(1, shape.scale // dice.between(1, 5))
    return Workload(
        key=f"ns/w{number:02}",
        uid=f"uid-{number}",
        group=group.name,
        request={resource: max(1, _amount(dice, most)) for resource in choice},
        created=EPOCH - timedelta(hours=1),
        queued=EPOCH - timedelta(minutes=dice.between(0, 9)),
        priority=dice.between(0, 2),
        preemptible=not dice.chance(30),
        placement=random_placement(dice) if dice.chance(15) else ANYWHERE,
        pods=dice.one_of((0, 1, 1, 2, 3, 8)),
        only_flavor=dice.one_of(tuple(shape.covered)) if dice.chance(10) else None,
        blocked_flavors=frozenset({dice.one_of(tuple(shape.covered))}) if dice.chance(10) else frozenset(),
        admission=admission,
        eviction=Eviction(EvictionReason.RECLAIMED, EPOCH) if state == "evicting" else None,
        hold=dice.chance(5),
        deactivated=dice.chance(3),
        not_before=EPOCH + timedelta(minutes=dice.between(-3, 3)) if dice.chance(10) else None,
    )


def _choice(dice: Dice, shape: Shape, group: Group) -> dict[str, str]:
    """One flavor per codependent set of the group, for some of its resources."""
    flavors = [entry.flavor for entry in group.quotas] or list(shape.covered)
    choice: dict[str, str] = {}
    for covered in sorted({shape.covered[flavor] for flavor in flavors}):
        flavor = dice.one_of([name for name in flavors if shape.covered[name] == covered])
        choice.update({resource: flavor for resource in covered if dice.chance(80)})
    return choice or {shape.covered[flavors[0]][0]: flavors[0]}


def _with_claim(dice: Dice, tree: Tree, work: Workload, preemptors: list[Workload]) -> Workload:
    """Evicted work may carry a claim; one preemptor's claims all name the same flavors."""
    others = [
        preemptor for preemptor in preemptors if not (preemptor.hold or preemptor.deactivated or preemptor.not_before)
    ]
    if work.eviction is None or not others or not dice.chance(40):
        return work
    preemptor = dice.one_of(others)
    entries = reversed(tree[preemptor.group].quotas)
    flavors = {name: entry.flavor for entry in entries for name in entry.covered & preemptor.request.keys()}
    claim = Claim(preemptor.key, preemptor.uid, in_sets(preemptor, flavors), EPOCH)
    return Workload(**{name: getattr(work, name) for name in Workload.__slots__} | {"claim": claim})
