"""Whether the engine measures inputs as the reference does, and whether the invariants of numbers hold."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from shared.quota.measure.group_usage import NO_NUMBERS, Numbers
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.snapshot import measure as measured
from shared.quota.model.tree import ROOT, SYSTEM, Tree
from shared.resources import Amount
from tests.prove.numbers.random_inputs import random_inputs
from tests.prove.numbers.turn_inputs import random_turn_inputs
from tests.prove.random_draw import Dice, Seeded
from tests.shared.quota.reference.inputs import ReferenceInputs
from tests.shared.quota.reference.reference import Reference
from tests.shared.quota.reference.turns import ReferenceWithTurns

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
    "spared",
    "kept",
)
OTHER_WORDS = {"runtime": "runtime_with", "kept": "promised"}
"""Names that the reference has other words for."""
BELOW_ROOT_ONLY = frozenset({"min", "guarantee", "weight", "request", "demand", "ceiling", "non_preemptible", "kept"})


def world_of(inputs: ReferenceInputs) -> World:
    """The same inputs as the engine reads them; the capacity of root is configured."""
    given = tuple((key.flavor, key.resource, amount) for key, amount in inputs.capacity.items())
    world = World.of(
        inputs.tree,
        inputs.flavors.values(),
        inputs.workloads,
        inputs.nodes,
        settings=replace(inputs.settings, capacity=given),
    )
    return replace(world, unmanaged=inputs.unmanaged, past_use=inputs.past_use, requester_use=inputs.requester_use)


def measure_inputs(inputs: ReferenceInputs) -> Snapshot:
    return measured(world_of(inputs), inputs.now)


def differences(inputs: ReferenceInputs) -> Iterator[str]:
    """One line per number that the two engines do not agree on."""
    snapshot = measure_inputs(inputs)
    reference = ReferenceWithTurns(inputs)
    yield from _other_orders(snapshot, reference)
    for name in reference.groups:
        for key in reference.keys:
            found = snapshot.numbers[name].get(key, NO_NUMBERS)
            if found is NO_NUMBERS and not reference.covers(name, key):
                continue
            for word in WORDS:
                if name == ROOT and word in BELOW_ROOT_ONLY:
                    continue
                expected = getattr(reference, OTHER_WORDS.get(word, word))(name, key)
                if getattr(found, word) != expected:
                    yield f"{name} {key} {word}: reference {expected}, engine {getattr(found, word)}"


def _other_orders(snapshot: Snapshot, reference: Reference) -> Iterator[str]:
    """The leaves whose queues the two engines order in another way."""
    for name, leaf in snapshot.leaves.items():
        expected = [work.key for work in reference.queue(name) if reference.is_considered(work)]
        found = [work.key for work in leaf.pending]
        if leaf.may_start and found != expected:
            yield f"{name} order: reference {expected}, engine {found}"


def broken_invariants(inputs: ReferenceInputs) -> Iterator[str]:
    """The invariants of the engine's numbers that these inputs break."""
    snapshot = measure_inputs(inputs)
    needs = {
        (level.child, level.key): level.need for holder in snapshot.turns.holders.values() for level in holder.levels
    }
    for name, numbers in snapshot.numbers.items():
        if name == SYSTEM:
            continue
        for key, own in numbers.items():
            below = {
                child: snapshot.numbers[child].get(key, NO_NUMBERS)
                for child in inputs.tree.children(name)
                if child != SYSTEM
            }
            for found in _of_group(name, own, needs.get((name, key), 0), snapshot.before_turns.of(name, key).runtime):
                yield f"{name} {key}: {found}"
            for found in (*_of_charge(own, below), *_of_division(own, below)):
                yield f"{name} {key}: {found}"
    yield from _of_min(inputs, snapshot)
    yield from _of_turns(snapshot)


def _of_group(name: str, own: Numbers, need: Amount, without_turns: Amount) -> Iterator[str]:
    """`need`: what a turn gives the group; with children that hold more than their ceilings it can be above demand.

    `without_turns`: its runtime then.
    """
    highest = max(own.ceiling, own.guarantee, own.non_preemptible)
    if name != ROOT and own.runtime > highest:
        yield f"runtime {own.runtime} is above {own.ceiling}, guarantee {own.guarantee}, kept {own.non_preemptible}"
    if name != ROOT and own.runtime > max(own.demand, own.non_preemptible, need):
        yield f"runtime {own.runtime} is above demand {own.demand} and held {own.non_preemptible}"
    if own.idle_charge != min(own.guarantee, without_turns):
        yield f"costs {own.idle_charge} while idle, with guarantee {own.guarantee} and runtime {without_turns}"
    if own.limit != (min(own.ceiling, own.runtime) if name == ROOT else own.ceiling):
        yield f"limit {own.limit}, with ceiling {own.ceiling} and runtime {own.runtime}"


def _of_charge(own: Numbers, below: Mapping[str, Numbers]) -> Iterator[str]:
    """Yield where the charge of a parent is not what its children cost, with turns too."""
    costs = sum(max(child.idle_charge, child.charge) for child in below.values())
    if below and own.charge != costs:
        yield f"charge {own.charge}, and the children cost {costs}"


def _of_division(own: Numbers, below: Mapping[str, Numbers]) -> Iterator[str]:
    total = sum(child.runtime for child in below.values())
    held = sum(child.non_preemptible for child in below.values())
    if total > max(own.runtime, held):
        yield f"children's runtimes sum to {total}, above {own.runtime}, and only {held} is held"
    hungry = sorted(name for name, child in below.items() if child.runtime < child.demand and child.weight > 0)
    if hungry and total < own.runtime:
        yield f"{own.runtime - total} of {own.runtime} goes to nobody while {hungry} are hungry"


def _of_min(inputs: ReferenceInputs, snapshot: Snapshot) -> Iterator[str]:
    """A group within its min gets what it demands: a rounding may cost it one, only what is held more."""
    for key in snapshot.numbers[ROOT]:
        own = {name: numbers[key] for name, numbers in snapshot.numbers.items() if key in numbers and name != SYSTEM}
        if any(each.non_preemptible > each.effective_min for name, each in own.items() if name != ROOT):
            continue
        for name, each in own.items():
            slack = 0 if all(other.effective_min == other.min for at, other in own.items() if at != ROOT) else len(own)
            if name != ROOT and each.runtime < min(each.effective_min, each.demand) - slack:
                yield f"{name} {key}: runtime {each.runtime}, min in effect {each.effective_min}, demand {each.demand}"


def _of_turns(snapshot: Snapshot) -> Iterator[str]:
    """No turn takes what a min promises, or puts a group over its runtime that is not over it without turns."""
    for name, numbers in snapshot.numbers.items():
        for key, own in numbers.items():
            before = snapshot.before_turns.of(name, key)
            if own.runtime < min(before.runtime, own.floor):
                yield f"{name} {key}: a turn leaves {own.runtime} of its floor {own.floor}"
            if own.runtime + own.spared < before.runtime:
                yield f"{name} {key}: without turns {before.runtime}, it may keep {own.runtime + own.spared}"


def changes_when_shuffled(inputs: ReferenceInputs, dice: Dice) -> Iterator[str]:
    """What differs when groups, flavors and work come in another order."""
    groups = shuffled(dice, tuple(inputs.tree.groups.values()))
    flavors = shuffled(dice, tuple(inputs.flavors.values()))
    other = replace(
        inputs,
        tree=Tree.of(groups),
        flavors={flavor.name: flavor for flavor in flavors},
        workloads=shuffled(dice, inputs.workloads),
    )
    before, after = measure_inputs(inputs), measure_inputs(other)
    for name, numbers in before.numbers.items():
        if dict(numbers) != dict(after.numbers[name]):
            yield f"{name}: {dict(numbers)} became {dict(after.numbers[name])}"


def losses_when_capacity_grows(inputs: ReferenceInputs, dice: Dice) -> Iterator[str]:
    """Groups that lose more than a rounding unit when only the capacity of a key grows."""
    if not inputs.capacity or any(each.turn is not None for each in inputs.workloads):
        return  # with more of it, a turn can be had that could not before
    key = dice.one_of(sorted(inputs.capacity))
    grown = replace(inputs, capacity={**inputs.capacity, key: inputs.capacity[key] + dice.between(1, 10)})
    before, after = measure_inputs(inputs).numbers, measure_inputs(grown).numbers
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
    """Everything that can be wrong with the numbers of one seed's inputs, one line each."""
    yield from _differences_of(random_inputs, Seeded(seed))
    yield from _differences_of(random_turn_inputs, Seeded(f"turns {seed}"))


def _differences_of(draw: Callable[[Dice], ReferenceInputs], dice: Dice) -> Iterator[str]:
    inputs = draw(dice)
    try:
        yield from differences(inputs)
        yield from broken_invariants(inputs)
        yield from changes_when_shuffled(inputs, dice)
        yield from losses_when_capacity_grows(inputs, dice)
    except Exception as problem:
        yield f"exception: {type(problem).__name__}: {problem}"
