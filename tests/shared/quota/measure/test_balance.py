"""The balance rule of hierarchical cohorts, T(n) >= -borrowingLimit, says what charge says where nothing is short.

T of a leaf is its quota less its use; T of a cohort is its own quota plus, for every child, the smaller of its T and
its lendingLimit, so that what a child keeps is lent to nobody. A parent's min here holds its children's mins: what no
child was promised is the cohort's own quota.
"""

from random import Random
from typing import Any

import pytest

from shared.quota.measure.snapshot import measure
from shared.quota.model.tree import Entry, Group, Tree
from tests.builders import NOW, running, world
from tests.trees import GPU, KEY


def random_promises(dice: Random) -> list[Group]:
    """Two or three levels whose mins add up, with lending and borrowing limits."""
    groups: list[Group] = []
    for top in range(dice.randint(1, 3)):
        children = [f"t{top}-{index}" for index in range(dice.randint(0, 3))]
        mins = {child: dice.randint(0, 10) for child in children}
        groups.append(
            _group(dice, f"t{top}", "root", sum(mins.values()) + dice.randint(0, 8), is_parent=bool(children))
        )
        groups.extend(_group(dice, child, f"t{top}", mins[child]) for child in children)
    return groups


def _group(dice: Random, name: str, parent: str, least: int, *, is_parent: bool = False) -> Group:
    limits: dict[str, Any] = {
        limit: {GPU: dice.randint(0, least)} for limit in ("lending_limit", "borrowing_limit") if dice.random() < 0.6
    }
    return Group(name, parent, is_parent=is_parent, quotas=(Entry("default", min={GPU: least}, **limits),))


def balance(tree: Tree, used: dict[str, int], name: str) -> int:
    children = tree.children(name)
    if not children:
        return _limit(tree, name, "min") - used.get(name, 0)
    own = _limit(tree, name, "min") - sum(_limit(tree, child, "min") for child in children)
    return own + sum(min(balance(tree, used, child), _lending(tree, child)) for child in children)


def _lending(tree: Tree, name: str) -> int:
    return min(_limit(tree, name, "lending_limit", _limit(tree, name, "min")), _limit(tree, name, "min"))


def _limit(tree: Tree, name: str, which: str, absent: int = 0) -> int:
    return int(getattr(tree[name].quotas[0], which).get(GPU, absent))


@pytest.mark.parametrize("seed", range(60))
def test_balance_is_min_minus_charge(seed: int) -> None:
    dice = Random(seed)
    groups = random_promises(dice)
    total = sum(group.quotas[0].min[GPU] for group in groups if group.parent == "root")
    root = Group("root", None, is_parent=True, quotas=(Entry("default", max={GPU: total}),))
    found = Tree.of([root, *groups])
    leaves = [name for name in found.leaves_below("root") if name != "root"]
    used = {leaf: dice.randint(0, 12) for leaf in leaves}
    snapshot = measure(world(found, [running(leaf, amount, leaf) for leaf, amount in used.items()]), NOW)
    for name in found.groups:
        if name != "root":
            numbers = snapshot.numbers[name][KEY]
            assert balance(found, used, name) == numbers.min - numbers.charge
            within = balance(found, used, name) >= -_borrowing(found, name)
            assert within == (numbers.charge <= numbers.min + _borrowing(found, name))


def _borrowing(tree: Tree, name: str) -> int:
    return _limit(tree, name, "borrowing_limit", 10**6)
