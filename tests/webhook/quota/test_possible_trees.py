"""Edits judged among others that might not be stored: whatever part of the accepted ones is, the tree is legal."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.quota.model import rules
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import Context
from shared.quota.model.tree import ROOT, Group, Tree
from tests.trees import group, tree
from webhook.quota.edits import FlavorEdit, GroupEdit
from webhook.quota.flavors import judge_flavor_among
from webhook.quota.possible_trees import PendingEdit, PendingEdits, latest
from webhook.quota.quotagroups import EditOutcome, judge_among

CONTEXT = Context(max_depth=4)
NOBODY: frozenset[str] = frozenset()


def edit(stored: Tree, name: str, new: Group | None) -> GroupEdit:
    return GroupEdit("id", name, "uid", "1", stored.get(name), new)


def open_edits(stored: Tree, *lines: str) -> list[PendingEdit]:
    """`-a` opens the deletion of a; any other line a group's new state."""
    found = []
    for line in lines:
        new = None if line.startswith("-") else group(line)
        name = line[1:] if new is None else new.name
        found.append(PendingEdit(name, new, name not in stored))
    return found


def judged(drawn: str, under_way: list[str], line: str) -> EditOutcome:
    stored = tree(drawn)
    new = None if line.startswith("-") else group(line)
    name = line[1:] if new is None else new.name
    return judge_among(edit(stored, name, new), PendingEdits(stored, open_edits(stored, *under_way)), NOBODY, CONTEXT)


CASES = {
    "room that a creation under way takes": ("p/ 2\n  a 1", ["b 1 ^p"], "c 1 ^p", True, "SumOfMinExceedsParent"),
    "room that a lowering under way frees": ("p/ 2\n  a 2", ["a 1 ^p"], "c 1 ^p", True, "SumOfMinExceedsParent"),
    "room that nothing frees": ("p/ 2\n  a 2", ["x 1"], "c 1 ^p", False, "SumOfMinExceedsParent"),
    "room freed and taken, of which only the taking is stored": (
        "p/ 6\n  a 2\n  b 1",
        ["a 1 ^p", "b 3 ^p"],
        "c 2 ^p",
        True,
        "SumOfMinExceedsParent",
    ),
    "room of a parent that is being lowered": ("p/ 4\n  a 1", ["p/ 2"], "b 2 ^p", True, "SumOfMinExceedsParent"),
    "percents that a creation under way takes": (
        "p/ 8\n  a 60%",
        ["b 30% ^p"],
        "c 20% ^p",
        True,
        "PercentsExceedParent",
    ),
    "percents of a child that is being lowered": (
        "p/ 8\n  a 60%",
        ["a 10% ^p"],
        "c 50% ^p",
        True,
        "PercentsExceedParent",
    ),
    "percents of a child that gets an amount": ("p/ 8\n  a 60%", ["a 1 ^p"], "c 50% ^p", True, "PercentsExceedParent"),
    "an amount of a child that gets a percent": ("p/ 8\n  a 5", ["a 1% ^p"], "c 4 ^p", True, "SumOfMinExceedsParent"),
    "a percent of a min that is being taken away": ("p/ 8", ["p/ ..8"], "c 50% ^p", True, "PercentOfNothing"),
    "half of a circle": ("a/\nb/", ["a/ ^b"], "b/ ^a", True, "Cycle"),
    "a third of a circle": ("a/\nb/\nc/", ["a/ ^b", "b/ ^c"], "c/ ^a", True, "Cycle"),
    "a circle only if one is stored and another is not": (
        "a/\nb/\n  c/",
        ["b/", "a/ ^c", "c/ ^x"],
        "b/ ^a",
        True,
        "Cycle",
    ),
    "the end of a parent that gets a child": ("p/", ["a ^p"], "-p", True, "DeletedWithChildren"),
    "the end of a parent whose child is going": ("p/\n  a", ["-a"], "-p", True, "DeletedWithChildren"),
    "a child of a parent that is going": ("p/", ["-p"], "a ^p", True, "EditUnderWay"),
    "too deep only with a move under way": ("a/\n  b/\nc/\n  d/", ["c/ ^b"], "e ^d", True, "TooDeep"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_edit_that_depends_on_pending_edits_is_undecided(case: tuple[str, list[str], str, bool, str]) -> None:
    drawn, under_way, line, unsettled, code = case
    found = judged(drawn, under_way, line)
    assert (found.unsettled, [each.rule for each in found.findings.violations]) == (unsettled, [code])
    assert not found.is_legal


@pytest.mark.parametrize(
    ("drawn", "under_way", "line"),
    [
        ("p/ 3\n  a 1", ["b 1 ^p"], "c 1 ^p"),
        ("p/ 2\nq/ 2", ["a 2 ^p"], "b 2 ^q"),
        ("p/ 2\n  a 2", ["a 1 ^p"], "x 1"),
        ("p/ 2\n  a 1", ["a 2 ^p"], "a 2 ^p"),
        ("a/\nb/\nc/", ["a/ ^b"], "c/ ^a"),
    ],
    ids=["room for both", "elsewhere", "of another parent", "the same group again", "one after the other"],
)
def test_edit_that_is_legal_in_every_possible_tree_is_accepted(drawn: str, under_way: list[str], line: str) -> None:
    assert judged(drawn, under_way, line).is_legal


def test_group_cannot_use_a_flavor_with_a_pending_deletion() -> None:
    stored = tree("a")
    found = judge_among(edit(stored, "a", group("a t4:gpu 1")), PendingEdits(stored), frozenset({"t4"}), CONTEXT)
    assert (found.unsettled, [each.rule for each in found.findings.violations]) == (True, ["EditUnderWay"])


def test_flavor_cannot_be_deleted_with_a_pending_use() -> None:
    stored = tree("a")
    going = FlavorEdit("id", "t4", "uid", "1", Flavor("t4"), None)
    found = judge_flavor_among(going, PendingEdits(stored, open_edits(stored, "a t4:gpu 1")), CONTEXT)
    assert (found.unsettled, [each.rule for each in found.findings.violations]) == (True, ["FlavorInUse"])
    assert judge_flavor_among(going, PendingEdits(stored, open_edits(stored, "a a100:gpu 1")), CONTEXT).is_legal
    used = tree("a t4:gpu 1")
    found = judge_flavor_among(going, PendingEdits(used), CONTEXT)
    assert (found.unsettled, [each.rule for each in found.findings.violations]) == (False, ["FlavorInUse"])


def grown(dice: random.Random) -> Tree:
    """A random legal tree of up to eight groups."""
    stored = tree("")
    for _ in range(40):
        line = drawn(dice)
        after = stored.with_group(group(line))
        if not rules.check_tree(after, CONTEXT).violations and not rules.check_tree(after, CONTEXT).warnings:
            stored = after
    return stored


def drawn(dice: random.Random) -> str:
    name = f"g{dice.randint(0, 7)}"
    parent = dice.choice([ROOT, *(f"g{at}" for at in range(8))])
    numbers = dice.choice(["", f"{dice.randint(0, 6)}", f"{dice.randint(0, 3)} | t4:gpu {dice.randint(0, 3)}"])
    return f"{name}{dice.choice('// ')} {numbers} ^{parent}"


def outcomes(stored: Tree, accepted: list[PendingEdit]) -> Iterator[tuple[Tree, frozenset[str]]]:
    """Every tree that may come to be, and which groups were deleted on the way; of one group one edit at most."""
    states: dict[str, list[PendingEdit | None]] = {}
    for each in accepted:
        states.setdefault(each.name, [None]).append(each)
    for chosen in itertools.product(*states.values()):
        after, gone = stored, set()
        for one in filter(None, chosen):
            after = latest(after, [one])
            if one.group is None:
                gone.add(one.name)
        yield after, frozenset(gone)


@pytest.mark.parametrize("seed", range(60))
def test_any_stored_subset_of_accepted_edits_gives_a_legal_tree(seed: int) -> None:
    dice = random.Random(seed)
    stored = grown(dice)
    accepted: list[PendingEdit] = []
    for _ in range(60):
        new: Group | None = group(drawn(dice))
        assert new is not None
        name = new.name
        if name in stored and dice.random() < 0.15:
            new = None
        if (
            judge_among(edit(stored, name, new), PendingEdits(stored, accepted), NOBODY, CONTEXT).is_legal
            and len(accepted) < 8
        ):
            accepted.append(PendingEdit(name, new, name not in stored))
    assert accepted
    for after, gone in outcomes(stored, accepted):
        assert rules.check_tree(after, CONTEXT).violations == (), (accepted, gone)
        assert not [each.name for each in after.groups.values() if each.parent in gone]


def test_only_edits_of_parent_and_quotas_are_ordered() -> None:
    old = group("a/ 4")
    assert [
        GroupEdit("id", "a", "uid", "1", old, new).is_ordered
        for new in (
            group("a/ 4"),
            group("a 4"),
            group("a/ 5"),
            group("a/ 4 ^b"),
            replace(old, allow_lending=False),
            None,
        )
    ] == [False, True, True, True, False, True]
