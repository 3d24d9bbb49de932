"""What an edit would change is summed up by group, in at most ten sentences, and names no workload."""

from dataclasses import replace

import msgspec

from shared.quota.measure.inputs.world import World
from shared.quota.outlook.simulate.effects import MOST_LINES, effects_as_data, effects_of, lines_of
from shared.quota.outlook.simulate.what_if import predict, predict_in_steps
from tests.builders import NOW, after, pending, running, world
from tests.trees import tree

BEFORE = "root 8\n  vision 2\n  nlp 6"
AFTER = "root 8\n  vision 6\n  nlp 2"
WORK = (
    running("nlp", 3, "hidden-1", since=after(-60)),
    running("nlp", 3, "hidden-2", since=after(-50)),
    running("vision", 2, "hidden-3", since=after(-60)),
    pending("vision", 4, "hidden-4"),
)


def edited(before: World, groups: str) -> World:
    """The same world with another tree."""
    return replace(before, tree=tree(groups))


def test_effects_list_stops_starts_and_changes_by_group() -> None:
    before = world(BEFORE, WORK)
    effects = effects_of(predict(before, edited(before, AFTER), NOW))
    assert lines_of(effects) == [
        "would stop 2 workloads of group nlp (6 gpu): Reclaimed",
        "would start 1 workload of group vision (4 gpu)",
        "runtime of group nlp: 6 -> 2 default/gpu",
        "runtime of group vision: 2 -> 6 default/gpu",
    ]
    data = effects_as_data(effects)
    assert "hidden" not in msgspec.json.encode(data).decode()
    assert data["depends"] == []


def test_edit_without_effect_has_no_lines() -> None:
    before = world(BEFORE, WORK)
    assert lines_of(effects_of(predict(before, before, NOW))) == []


def test_what_depends_on_the_order_of_ends_is_listed_once_it_was_tried() -> None:
    """The first prediction tries no orders. docs/specification.md §14.3."""
    work = [running("b", 3, "b0"), running("b", 5, "b1"), pending("c", 7, "old", created=after(-60))]
    groups = "root 8\n  b 0{}\n  c 0\n  d 0"
    before = world(groups.format(""), [*work, pending("d", 5, "small")])
    first, whole = map(effects_of, predict_in_steps(before, edited(before, groups.format(" drain")), NOW))
    assert (first.depends, "depends" in effects_as_data(first)) == ((), False)
    assert [line for line in lines_of(whole) if line.startswith("whether")] == [
        "whether 1 workload of group c (7 gpu) would run depends on which of those that stop end first",
        "whether 1 workload of group d (5 gpu) would run depends on which of those that stop end first",
    ]


def lines_for(groups: int) -> list[str]:
    """What raising the max of so many full groups would do: a start and a larger runtime of each."""
    names = [f"g{number}" for number in range(groups)]
    few = "\n".join(["root 24", *(f"  {name} 1..1" for name in names)])
    before = world(few, [pending(name, 2, name) for name in names])
    return lines_of(effects_of(predict(before, edited(before, few.replace("1..1", "2..2")), NOW)))


def test_long_list_of_effects_ends_with_the_number_of_others() -> None:
    lines = lines_for(12)
    assert len(lines) == MOST_LINES
    assert lines[0] == "would start 1 workload of group g0 (2 gpu)"
    assert lines[-1] == "and 15 more effects; `quotree what-if` lists all"


def test_list_that_is_just_short_enough_is_complete() -> None:
    lines = lines_for(MOST_LINES // 2)
    assert len(lines) == MOST_LINES
    assert lines[-1] == "runtime of group g4: 0 -> 2 default/gpu"
