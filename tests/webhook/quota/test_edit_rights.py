"""Who divides a part of the tree changes nothing outside it, whatever edits it tries; and asks about what is stored."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from shared.api.review import Review, ReviewedKind, ReviewOperation, User
from shared.quota.measure.snapshot import measure
from shared.quota.model.rules import Context, check_change
from shared.quota.model.tree import ROOT, Entry, Group, Tree
from shared.quota.model.workload import Workload
from tests.builders import NOW, pending, world
from tests.trees import GPU, KEY, group, tree
from webhook.quota.edit_rights import CONTROL_PLANE, EditRights
from webhook.quota.edits import GroupEdit

QUOTA_GROUP = ReviewedKind("quotree.dev", "v1alpha1", "QuotaGroup")
EDITS = 2_500
DRAWN = """
root 40
  divided/ 12..24 w3
    one/ 6
      deep 2..9
      other 3
    two 4..20
  beside/ 10 w2
    near 4..8
    far 5
  alone 8..30
"""
SIZES = (1, 1, 2, 4, 8, 16)
"""Those that fit below a ceiling are together at least as large, up to 32."""
FIELDS = ("min", "effective_min", "guarantee", "ceiling", "runtime")
DELEGATE = {("update", ""), ("delete", ""), ("divide", "divided")}


class Granted:
    """What the API server would answer: the (verb, group) pairs that RBAC gives; "" is every group."""

    def __init__(self, granted: Set[tuple[str, str]]) -> None:
        self._granted = granted
        self.asked: list[tuple[str, str]] = []

    async def may(self, _user: User, verb: str, name: str) -> bool:
        self.asked.append((verb, name))
        return (verb, name) in self._granted or (verb, "") in self._granted


def rights(
    granted: Set[tuple[str, str]], seen: Tree, stored: Tree | None = None, *, required: bool = True
) -> EditRights:
    async def read(name: str) -> Group | None:
        return (seen if stored is None else stored).groups.get(name)

    return EditRights(Granted(granted), lambda: seen, read, requires_divide=required)  # type: ignore[arg-type]


async def rules_broken(judge: EditRights, old: Group | None, new: Group | None, user: str = "red") -> set[str]:
    operation = ReviewOperation.DELETE if new is None else ReviewOperation.UPDATE if old else ReviewOperation.CREATE
    state = new or old
    assert state is not None
    review = Review("u", QUOTA_GROUP, operation, user_info=User(user))
    found = await judge.check(review, GroupEdit("1", state.name, "", "", old, new))
    return {each.rule for each in found.violations}


@pytest.mark.parametrize("seed", range(20, 24))
async def test_delegate_changes_no_number_outside_its_part(seed: int) -> None:
    """Each edit is allowed as a judge that knows nothing but names and parents says, and then made if it is legal."""
    random, now = Random(seed), tree(DRAWN)
    numbers, made = outside(now), {True: 0, False: 0}
    for _ in range(EDITS):
        old, new = drawn_edit(random, now)
        allowed = not await rules_broken(rights(DELEGATE, now), old, new)
        assert allowed is all(is_below(now, each) for each in (old, new) if each is not None), (old, new)
        after = now.with_group(new) if new is not None else now.without(old.name if old is not None else "")
        name = (new or old or group("none")).name
        if check_change(now, after, name, Context()).violations:
            continue
        made[allowed] += 1
        if allowed:
            now = after
            assert outside(now) == numbers, (old, new)
    assert min(made.values()) > EDITS / 100, made


def drawn_edit(random: Random, now: Tree) -> tuple[Group | None, Group | None]:
    """A group created, deleted, moved, or given other quotas, anywhere."""
    names = sorted(set(now.groups) - {ROOT})
    parents = [name for name in sorted(now.groups) if now.groups[name].is_parent]
    old = now.groups[random.choice(names)]
    match random.choice(("create", "delete", "move", "edit", "edit")):
        case "create":
            parent = random.choice(parents)
            fresh = Group(f"new-{random.randrange(30)}", parent, is_parent=random.random() < 0.3)
            known = now.groups.get(fresh.name)
            return known, replace(fresh, quotas=drawn_quotas(random)) if known is None else None
        case "delete":
            return old, None
        case "move":
            return old, replace(old, parent=random.choice(parents))
        case _:
            return old, replace(old, quotas=drawn_quotas(random))


def drawn_quotas(random: Random) -> tuple[Entry, ...]:
    low = random.choice((0, 0, 1, 2, 4))
    limits: dict[str, Any] = {"min": {GPU: low}}
    if random.random() < 0.5:
        limits["max"] = {GPU: low + random.randrange(1, 20)}
    if random.random() < 0.3:
        limits["weight"] = {GPU: random.randrange(10)}
    if random.random() < 0.3:
        limits["lending_limit"] = {GPU: random.randrange(low + 1)}
    if random.random() < 0.3:
        limits["borrowing_limit"] = {GPU: random.randrange(9)}
    if random.random() < 0.3:
        limits["percents"] = {"min": {GPU: random.choice((0, 5_000, 12_500, 33_333))}, "max": {GPU: 50_000}}
        limits = {limit: limits[limit] for limit in ("weight", "percents") if limit in limits}
    return (Entry("default", **limits),)


def is_below(now: Tree, state: Group) -> bool:
    """Whether `divided` is above the group, by parents alone."""
    at, steps = state.parent, 0
    while at is not None and steps < len(now.groups):
        if at == "divided":
            return True
        at, steps = now.groups[at].parent if at in now.groups else None, steps + 1
    return False


@cache
def all_it_could_have(leaf: str) -> list[Workload]:
    return [pending(leaf, size, f"{leaf}-{at}") for at, size in enumerate(SIZES)]


def outside(now: Tree) -> Mapping[str, list[int]]:
    """The numbers of each group outside while every leaf wants all that it could have, and `divided`, too."""
    probe = Group("probe", "divided", quotas=(Entry("default", min={GPU: 0}),))
    loaded = now.with_group(probe)
    leaves = [name for name, each in sorted(loaded.groups.items()) if not each.is_parent]
    wanted = [each for name in leaves for each in all_it_could_have(name)]
    numbers = measure(world(loaded, wanted), NOW).numbers
    return {
        name: [getattr(numbers[name][KEY], field) for field in FIELDS]
        for name in ("divided", "beside", "near", "far", "alone")
    }


def cases() -> Iterator[Any]:
    inside, beyond = group("deep 2..9 ^one"), group("near 4..8 ^beside")
    wide = {("update", ""), ("delete", "")}
    yield pytest.param(wide, inside, "OutsideDivision", id="without the verb, nowhere")
    yield pytest.param(wide | {("divide", "")}, beyond, "", id="with the verb on all groups, everywhere")
    yield pytest.param({("update", "near")}, beyond, "", id="whom RBAC limits by name, as without the setting")
    yield pytest.param({("update", "near"), ("delete", "")}, beyond, "", id="by the verb of the operation")
    yield pytest.param(wide | {("divide", "one")}, inside, "", id="the nearest")
    yield pytest.param(wide | {("divide", "deep")}, inside, "OutsideDivision", id="not the group itself")


@pytest.mark.parametrize(("granted", "old", "broken"), [*cases()])
async def test_verb_counts_above_the_group_alone(granted: Set[tuple[str, str]], old: Group, broken: str) -> None:
    found = await rules_broken(rights(granted, tree(DRAWN)), old, replace(old, allow_lending=False))
    assert found == ({broken} if broken else set())


async def test_control_plane_deletes_everywhere() -> None:
    judge = rights({("delete", "")}, tree(DRAWN))
    assert await rules_broken(judge, group("near ^beside"), None, f"{CONTROL_PLANE}generic-garbage-collector") == set()


async def test_group_above_that_the_watch_does_not_show_yet_is_read() -> None:
    stored = tree(DRAWN)
    judge = rights(DELEGATE, stored.without("one"), stored)
    assert await rules_broken(judge, None, group("fresh 1 ^one")) == set()
    assert await rules_broken(judge, None, group("fresh 1 ^gone")) == {"OutsideDivision"}


async def test_cycle_above_a_group_ends() -> None:
    looped = tree("a/ ^b\nb/ ^a")
    assert await rules_broken(rights(DELEGATE, looped), None, group("c ^a")) == {"OutsideDivision"}


async def test_who_divides_above_takes_from_siblings_without_the_setting_too() -> None:
    old, new = group("deep 2..9 ^one"), group("deep 3..9 ^one")
    for granted, broken in (({("divide", "divided")}, set()), (set(), {"TakesFromSiblings"})):
        assert await rules_broken(rights(granted, tree(DRAWN), required=False), old, new) == broken
