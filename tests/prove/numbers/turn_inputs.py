"""Random inputs in which turns count: small trees with small mins, full leaves, and jobs larger than their share."""

from dataclasses import replace
from datetime import timedelta

from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Entry, Group, Tree
from shared.quota.model.workload import Admission, Turn, Workload
from shared.resources import FlavorResource
from tests.builders import in_main
from tests.prove.random_draw import Dice
from tests.shared.quota.reference.inputs import EPOCH, ReferenceInputs

GPU = "gpu"
FLAVORS = ("a", "b")
TURNS_BEGAN = (timedelta(0), timedelta(0), timedelta(days=1), timedelta(days=2), timedelta(days=5))
"""So long ago: some of these turns rest."""
HAD_WAITED = (timedelta(hours=2), timedelta(hours=2), timedelta(days=3))


def random_turn_inputs(dice: Dice) -> ReferenceInputs:
    """Inputs with one to three levels, and turns on some of the large jobs."""
    flavors = FLAVORS[: dice.between(1, 2)]
    capacity = {FlavorResource(flavor, GPU): dice.between(4, 16) for flavor in flavors}
    groups: list[Group] = []
    for number in range(dice.between(2, 4)):
        name = f"g{number}"
        groups.append(_group(dice, name, flavors))
        if dice.chance(50):
            below = [_group(dice, f"{name}-{child}", flavors) for child in range(dice.between(1, 3))]
            quotas = tuple(_sum_of_mins(entry, below) for entry in groups[-1].quotas)
            groups[-1] = replace(groups[-1], is_parent=True, quotas=quotas)
            groups += [replace(each, parent=name) for each in below]
    leaves = [each.name for each in groups if not each.is_parent]
    work = [each for leaf in leaves for each in _work(dice, leaf, flavors, max(capacity.values()))]
    return ReferenceInputs(
        tree=Tree.of(groups),
        workloads=tuple(work),
        capacity=capacity,
        flavors={name: Flavor(name) for name in flavors},
        past_use={each.name: {key: dice.between(0, 9) for key in capacity} for each in groups},
    )


def _group(dice: Dice, name: str, flavors: tuple[str, ...]) -> Group:
    def entry(flavor: str) -> Entry:
        low = dice.one_of((0, 0, 0, 1, 2))
        lent = {GPU: dice.between(0, low)} if dice.chance(20) else {}
        high = {GPU: low + dice.between(1, 12)} if dice.chance(15) else {}
        return Entry(flavor, {GPU: low}, high, {}, lent, {GPU: dice.one_of((0, 1, 1, 1, 2, 3))})

    return Group(name, quotas=tuple(map(entry, flavors)))


def _sum_of_mins(entry: Entry, below: list[Group]) -> Entry:
    promised = [found.min[GPU] for each in below if (found := each.entry(entry.flavor)) is not None]
    return replace(entry, min={GPU: max(entry.min[GPU], sum(promised))}, max={})


def _work(dice: Dice, leaf: str, flavors: tuple[str, ...], most: int) -> list[Workload]:
    """Jobs of 1 that run and wait, and up to two large ones."""
    found = []
    for number in range(dice.between(0, 5)):
        job = _job(leaf, f"small{number}", 1, preemptible=not dice.chance(10))
        found.append(_started(job, dice.one_of(flavors)) if dice.chance(50) else job)
    for number in range(dice.between(0, 2)):
        job = _job(leaf, f"large{number}", dice.between(2, most), priority=dice.between(0, 1))
        flavor = dice.one_of(flavors)
        job = replace(job, only_flavor=flavor) if dice.chance(30) else job
        job = _started(job, flavor) if dice.chance(25) else job
        turn = Turn(in_main({GPU: flavor}), EPOCH - dice.one_of(TURNS_BEGAN) - timedelta(minutes=dice.between(0, 5)))
        queued = turn.since - dice.one_of(HAD_WAITED)
        found.append(replace(job, turn=turn, created=queued, queued=queued) if dice.chance(70) else job)
    return found


def _job(leaf: str, name: str, amount: int, **fields: object) -> Workload:
    born = EPOCH - timedelta(hours=2)
    key = f"ns/{leaf}-{name}"
    return Workload(key, leaf, {GPU: amount}, created=born, queued=born, uid=key, **fields)  # type: ignore[arg-type]


def _started(job: Workload, flavor: str) -> Workload:
    return replace(job, admission=Admission(in_main({GPU: flavor}), EPOCH - timedelta(minutes=1)))
