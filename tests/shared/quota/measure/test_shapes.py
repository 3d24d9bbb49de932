"""Pending workloads by shape: a change of one costs a look at few of the others, also where all differ."""

from random import Random

from shared.quota.measure.inputs.shapes import MOST_IN_ONE, NO_SHAPES, PARTS
from shared.quota.measure.snapshot import measure
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending
from tests.shared.quota.decide.cost.counted_calls import counted_calls
from tests.shared.quota.decide.plan_words import given
from tests.trees import KEY


def test_shapes_after_changes_are_those_of_what_is_left() -> None:
    dice = Random(1)
    waiting: dict[str, Workload] = {}
    shapes = NO_SHAPES
    for number in range(400):
        batch = [
            pending("a", dice.randint(1, 900), f"w{number}-{each}", created=after(-dice.randint(0, 9)))
            for each in range(4)
        ]
        gone = [waiting.pop(dice.choice(list(waiting))) for _ in range(min(len(waiting), dice.randint(0, 4)))]
        waiting |= {each.key: each for each in batch}
        known, shapes = shapes, shapes.after([*((each, 1) for each in batch), *((each, -1) for each in gone)])
        kept = sum(now is before for now, before in zip(shapes.parts, known.parts, strict=False))
        assert kept >= len(known.parts) - len(batch) - len(gone) or len(known.parts) < len(shapes.parts)
    whole = NO_SHAPES.after((each, 1) for each in waiting.values())
    assert {len(shapes.parts), len(whole.parts)} <= {1, PARTS}
    assert {shape: each.queued for shape, each in shapes.items()} == {s: each.queued for s, each in whole.items()}


def test_one_of_many_sizes_is_counted_without_a_look_at_the_others() -> None:
    sizes = range(1, 4 * MOST_IN_ONE)
    work = [pending("a", size, f"w{size}", created=after(-size)) for size in sizes]
    world = given("root 9000\n  a 9", work)
    snapshot = measure(world, NOW)
    with counted_calls() as calls:
        changed = measure(world.with_changes([(work[-1], None), (None, pending("a", 7, "new"))]), NOW, snapshot)
    assert len(calls) < len(work)
    totals = changed.leaves["a"].totals[KEY]
    assert (totals.request, totals.waiting_since) == (sum(sizes[:-1]) + 7, after(-sizes[-2]))


def test_shapes_lie_in_many_parts_only_where_they_are_many() -> None:
    work = [pending("a", size, f"w{size}") for size in range(1, MOST_IN_ONE + 2)]
    few = NO_SHAPES.after((each, 1) for each in work[:-1])
    many = few.after([(work[-1], 1)])
    assert (len(few.parts), len(many.parts), len(many.after([(work[0], -1)]).parts)) == (1, PARTS, PARTS)
