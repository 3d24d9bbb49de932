"""An edited tree is what a tree built from the same groups would be."""

import random
import sys

import pytest

from shared.quota.model import rules
from shared.quota.model.tree import Tree
from tests.trees import group, tree


@pytest.mark.parametrize("seed", range(10))
def test_index_of_children_follows_every_edit(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"g{at}" for at in range(15)]
    edited = tree("")
    edited.children("root")
    for _ in range(200):
        name = dice.choice(names)
        if name in edited and dice.random() < 0.3:
            edited = edited.without(name)
        else:
            edited = edited.with_group(group(f"{name}/ ^{dice.choice([*names, 'root', 'absent'])}"))
        built = Tree.of(edited.groups.values())
        for parent in (*names, "root", "absent"):
            assert edited.children(parent) == built.children(parent)


def calls_to_judge(line: str, siblings: int) -> int:
    """How many calls and returns it takes to judge that edit among so many siblings."""
    before = Tree.of([group("p/ 2000000"), *(group(f"c{at} 1 ^p") for at in range(siblings))])
    before.children("p")
    edited = group(line)
    after = before.with_group(edited)
    events = 0

    def count(*_: object) -> None:
        nonlocal events
        events += 1

    sys.setprofile(count)
    try:
        found = rules.check_change(before, after, edited.name, rules.Context())
    finally:
        sys.setprofile(None)
    assert found.violations == ()
    return events


@pytest.mark.parametrize("line", ["c7 2 ^p", "new 1 ^p", "p/ 3000000", "c7 1"], ids=["child", "new", "parent", "move"])
def test_checking_an_edit_takes_few_steps_per_sibling(line: str) -> None:
    assert calls_to_judge(line, 2000) - calls_to_judge(line, 200) <= 10 * 1800
