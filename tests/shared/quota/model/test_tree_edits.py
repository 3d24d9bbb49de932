"""An edited tree is what a tree built from the same groups would be."""

import random
import time

import pytest

from shared.quota.model import rules
from shared.quota.model.tree import Tree
from tests.trees import group, tree


@pytest.mark.parametrize("seed", range(10))
def test_the_index_of_children_follows_every_edit(seed: int) -> None:
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


@pytest.mark.parametrize("line", ["c7 2 ^p", "new 1 ^p", "p/ 3000000", "c7 1"], ids=["child", "new", "parent", "move"])
def test_an_edit_among_2000_siblings_is_judged_in_milliseconds(line: str) -> None:
    before = Tree.of([group("p/ 2000000"), *(group(f"c{at} 1 ^p") for at in range(2000))])
    before.children("p")
    edited = group(line)
    took = []
    for _ in range(7):
        started = time.perf_counter()
        found = rules.check_change(before, before.with_group(edited), edited.name, rules.Context())
        took.append(time.perf_counter() - started)
        assert found.violations == ()
    assert min(took) < 0.010
