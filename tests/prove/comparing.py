"""Whether the engine measures a scene as the reference does, and whether what must always hold of numbers holds."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from shared.quota.measure.group_usage import NO_NUMBERS, Numbers
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.snapshot import measure as measured
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from tests.prove.random_draw import Dice, Seeded
from tests.prove.random_scenes import random_scene
from tests.shared.quota.reference import Reference
from tests.shared.quota.reference_inputs import Scene

T = TypeVar("T")
WORDS = (
    "min",
    "effective_min",
    "guarantee",
    "ceiling",
    "weight",
    "used",
    "non_preemptible",
    "request",
    "demand",
    "charge",
    "runtime",
)
BELOW_ROOT_ONLY = frozenset({"min", "guarantee", "weight", "request", "demand", "ceiling", "non_preemptible"})


def world_of(scene: Scene) -> World:
    """The same scene as the engine takes it; root's capacity is given by hand."""
    given = tuple((key.flavor, key.resource, amount) for key, amount in scene.capacity.items())
    world = World.of(
        scene.tree,
        scene.flavors.values(),
        scene.workloads,
        scene.nodes,
        settings=replace(scene.settings, capacity=given),
    )
    return replace(world, unmanaged=scene.unmanaged, past_use=scene.past_use)


def measure_scene(scene: Scene) -> Snapshot:
    return measured(world_of(scene), scene.now)


def differences(scene: Scene) -> Iterator[str]:
    """One line per number that the two engines do not agree on."""
    snapshot = measure_scene(scene)
    reference = Reference(scene)
    for name in reference.groups:
        for key in reference.keys:
            found = snapshot.numbers[name].get(key, NO_NUMBERS)
            if found is NO_NUMBERS and not reference.covers(name, key):
                continue
            for word in WORDS:
                if name == ROOT and word in BELOW_ROOT_ONLY:
                    continue
                expected = getattr(reference, word)(name, key)
                if getattr(found, word) != expected:
                    yield f"{name} {key} {word}: reference {expected}, engine {getattr(found, word)}"


def broken_invariants(scene: Scene) -> Iterator[str]:
    """What must hold of the engine's numbers whatever the scene is."""
    snapshot = measure_scene(scene)
    for name, numbers in snapshot.numbers.items():
        if name == SYSTEM:
            continue
        for key, own in numbers.items():
            below = {
                child: snapshot.numbers[child].get(key, NO_NUMBERS)
                for child in scene.tree.children(name)
                if child != SYSTEM
            }
            for found in _of_group(name, own):
                yield f"{name} {key}: {found}"
            for found in _of_division(own, below):
                yield f"{name} {key}: {found}"
    yield from _of_min(scene, snapshot)


def _of_group(name: str, own: Numbers) -> Iterator[str]:
    highest = max(own.ceiling, own.guarantee, own.non_preemptible)
    if name != ROOT and own.runtime > highest:
        yield f"runtime {own.runtime} is above {own.ceiling}, guarantee {own.guarantee}, kept {own.non_preemptible}"
    if name != ROOT and own.runtime > max(own.demand, own.non_preemptible):
        yield f"runtime {own.runtime} is above demand {own.demand} and held {own.non_preemptible}"


def _of_division(own: Numbers, below: Mapping[str, Numbers]) -> Iterator[str]:
    total = sum(child.runtime for child in below.values())
    held = sum(child.non_preemptible for child in below.values())
    if total > max(own.runtime, held):
        yield f"children's runtimes sum to {total}, above {own.runtime}, and only {held} is held"
    hungry = sorted(name for name, child in below.items() if child.runtime < child.demand and child.weight > 0)
    if hungry and total < own.runtime:
        yield f"{own.runtime - total} of {own.runtime} goes to nobody while {hungry} are hungry"


def _of_min(scene: Scene, snapshot: Snapshot) -> Iterator[str]:
    """A group within its min gets what it demands: a rounding may cost it one, only what is held more."""
    for key in snapshot.numbers[ROOT]:
        own = {name: numbers[key] for name, numbers in snapshot.numbers.items() if key in numbers and name != SYSTEM}
        if any(each.non_preemptible > each.effective_min for name, each in own.items() if name != ROOT):
            continue
        for name, each in own.items():
            slack = 0 if all(other.effective_min == other.min for at, other in own.items() if at != ROOT) else len(own)
            if name != ROOT and each.runtime < min(each.effective_min, each.demand) - slack:
                yield f"{name} {key}: runtime {each.runtime}, min in effect {each.effective_min}, demand {each.demand}"


def changes_when_shuffled(scene: Scene, dice: Dice) -> Iterator[str]:
    """What differs when groups, flavors and work come in another order."""
    groups = shuffled(dice, tuple(scene.tree.groups.values()))
    flavors = shuffled(dice, tuple(scene.flavors.values()))
    other = replace(
        scene,
        tree=Tree.of(groups),
        flavors={flavor.name: flavor for flavor in flavors},
        workloads=shuffled(dice, scene.workloads),
    )
    before, after = measure_scene(scene), measure_scene(other)
    for name, numbers in before.numbers.items():
        if dict(numbers) != dict(after.numbers[name]):
            yield f"{name}: {dict(numbers)} became {dict(after.numbers[name])}"


def losses_when_capacity_grows(scene: Scene, dice: Dice) -> Iterator[str]:
    """Who loses more than roundings when there is more of a key, nobody wants more, and no weight changes."""
    if not scene.capacity:
        return
    key = dice.one_of(sorted(scene.capacity))
    grown = replace(scene, capacity={**scene.capacity, key: scene.capacity[key] + dice.between(1, 10)})
    before, after = measure_scene(scene).numbers, measure_scene(grown).numbers
    own = {
        name: (numbers[key], after[name][key]) for name, numbers in before.items() if key in numbers and name != ROOT
    }
    if any(
        (old.demand, old.weight, old.non_preemptible) != (new.demand, new.weight, new.non_preemptible)
        for old, new in own.values()
    ):
        return
    for name, (old, new) in own.items():
        if new.runtime < old.runtime - len(own):
            yield f"{name} {key}: runtime {old.runtime} fell to {new.runtime} although there is more"


def shuffled(dice: Dice, items: tuple[T, ...]) -> tuple[T, ...]:
    """The same items in another order."""
    left = list(items)
    return tuple(left.pop(dice.between(0, len(left) - 1)) for _ in items)


def all_differences(seed: str) -> Iterator[str]:
    """Everything that can be wrong with the numbers of one seed's scene, one line each."""
    dice = Seeded(seed)
    scene = random_scene(dice)
    try:
        yield from differences(scene)
        yield from broken_invariants(scene)
        yield from changes_when_shuffled(scene, dice)
        yield from losses_when_capacity_grows(scene, dice)
    except Exception as problem:
        yield f"exception: {type(problem).__name__}: {problem}"
