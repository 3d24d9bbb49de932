"""A converted queue admits exactly as much as Kueue's: random trees, compared with Kueue's own arithmetic."""

import random
from pathlib import Path
from typing import Any

import pytest

from shared.quota.model.tree import Group
from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import kueue, queue, quotas


@pytest.mark.parametrize("seed", range(60))
def test_room_of_every_queue_equals_that_of_kueue(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    nodes = draw_tree(rng)
    made = Converted(tmp_path, "".join(written(name, node) for name, node in nodes.items()))
    groups = {group.name: group for group in made.groups()}
    used = dict.fromkeys(nodes, 0)
    for name in rng.choices([name for name, node in nodes.items() if node["leaf"]], k=6):
        used[name] += rng.randint(0, max(0, Kueue(nodes, used).available(name)))
    for name, node in nodes.items():
        if node["leaf"]:
            assert room(groups, used, name) == max(0, Kueue(nodes, used).available(name)), (name, nodes, used)


def test_negative_quota_is_reported_as_a_violation(tmp_path: Path) -> None:
    made = Converted(tmp_path, queue("q", "team", resourceGroups=quotas(cpu=-1)))
    assert "min of cpu: -1 is out of range" in made.check(tmp_path)[1]


def draw_tree(rng: random.Random) -> dict[str, dict[str, Any]]:
    """Cohorts at most four deep, with queues anywhere below them."""
    nodes: dict[str, dict[str, Any]] = {}
    for at in range(rng.randint(1, 4)):
        above = rng.choice([None, *nodes])
        nodes[f"c{at}"] = draw_node(rng, above, leaf=False)
    for at in range(rng.randint(1, 5)):
        above = rng.choice([each for each, node in nodes.items() if not node["leaf"]])
        nodes[f"q{at}"] = draw_node(rng, above, leaf=True)
    return nodes


def draw_node(rng: random.Random, parent: str | None, *, leaf: bool) -> dict[str, Any]:
    nominal = rng.randint(0, 8)
    limits = {
        "borrowingLimit": rng.choice([None, rng.randint(0, 6)]) if parent else None,
        "lendingLimit": rng.choice([None, rng.randint(0, nominal if leaf else 8)]) if parent else None,
    }
    return {"parent": parent, "leaf": leaf, "nominalQuota": nominal} | limits


def written(name: str, node: dict[str, Any]) -> str:
    limits = {key: node[key] for key in ("nominalQuota", "borrowingLimit", "lendingLimit") if node[key] is not None}
    if node["leaf"]:
        return queue(name, node["parent"], resourceGroups=quotas(memory=limits))
    parent = {"parentName": node["parent"]} if node["parent"] else {}
    return kueue("Cohort", name, {**parent, "resourceGroups": quotas(memory=limits)})


class Kueue:
    """How much a queue may still admit, as Kueue computes it in its tree of resource nodes."""

    def __init__(self, nodes: dict[str, dict[str, Any]], used: dict[str, int]) -> None:
        self._nodes = nodes
        self._used = used

    def available(self, name: str) -> int:
        node, subtree, kept, use = self._nodes[name], self.subtree(name), self.guaranteed(name), self.usage(name)
        if node["parent"] is None:
            return subtree - use
        above = self.available(node["parent"])
        if node["borrowingLimit"] is not None:
            above = min(above, subtree - kept - max(0, use - kept) + int(node["borrowingLimit"]))
        return max(0, kept - use) + above

    def subtree(self, name: str) -> int:
        lent = sum(self.subtree(child) - self.guaranteed(child) for child in self.children(name))
        return int(self._nodes[name]["nominalQuota"]) + lent

    def guaranteed(self, name: str) -> int:
        limit = self._nodes[name]["lendingLimit"]
        return 0 if limit is None else max(0, self.subtree(name) - int(limit))

    def usage(self, name: str) -> int:
        below = sum(max(0, self.usage(child) - self.guaranteed(child)) for child in self.children(name))
        return self._used[name] + below

    def children(self, name: str) -> list[str]:
        return [child for child, node in self._nodes.items() if node["parent"] == name]


def room(groups: dict[str, Group], used: dict[str, int], leaf: str) -> int:
    """How much more the leaf may use until a ceiling on its path is reached (docs/specification.md, charge)."""

    def limit(name: str, field: str) -> int | None:
        return next((getattr(entry, field).get("memory") for entry in groups[name].quotas), None)

    def guarantee(name: str) -> int:
        lent = limit(name, "lending_limit")
        return 0 if lent is None else max(0, (limit(name, "min") or 0) - lent)

    def charge(name: str, used: dict[str, int]) -> int:
        below = [child for child, group in groups.items() if group.parent == name]
        return used[name] + sum(max(guarantee(child), charge(child, used)) for child in below)

    def fits(more: int) -> bool:
        after = {**used, leaf: used[leaf] + more}
        at: str | None = leaf
        while at in groups:
            borrowed = limit(at, "borrowing_limit")
            if borrowed is not None and charge(at, after) > (limit(at, "min") or 0) + borrowed:
                return False
            at = groups[at].parent
        return True

    return next((more - 1 for more in range(1, 200) if not fits(more)), 200)
