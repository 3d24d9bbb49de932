"""A rule that fails on one stored object, by a fault of Quotree's own: all others are edited all the same."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import Context, Findings
from shared.quota.model.rules import flavors as flavor_rules
from shared.quota.model.rules.groups.numbers import sums
from shared.quota.model.tree import Tree
from tests.trees import group, tree
from tests.webhook.edit_requests import answer, quota_group
from tests.webhook.poisoned import UNLUCKY, PoisonedRule, failing_sum
from tests.webhook.rolling.replicas import Replicas
from webhook.quota.edits import FlavorEdit, GroupEdit
from webhook.quota.flavors import judge_flavor_alone
from webhook.quota.left_out import LeftOut
from webhook.quota.quotagroups import judge_alone

pytestmark = pytest.mark.timeout(900)
STORED = f"""
research/ 20
  vision 4
  faulty {UNLUCKY}
"""


@pytest.fixture
def failing_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "sum_of_min", failing_sum)


def judged(stored: Tree, line: str, parent: str = "research") -> Findings:
    new = group(line, parent)
    return judge_alone(GroupEdit("id", new.name, "uid", "1", stored.get(new.name), new), stored, Context())


def codes(findings: Findings) -> list[tuple[str, str]]:
    return [(each.rule, each.object) for each in (*findings.violations, *findings.warnings)]


@pytest.mark.usefixtures("failing_rule")
@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("vision 6", []),
        ("nlp 16", []),
        ("nlp 17", [("SumOfMinExceedsParent", "QuotaGroup/research")]),
    ],
)
def test_sibling_is_judged_without_the_group_on_which_a_rule_fails(line: str, broken: list[tuple[str, str]]) -> None:
    found = judged(tree(STORED), line)
    assert codes(found) == [*broken, ("SetAside", "QuotaGroup/faulty")]
    (named,) = found.warnings
    assert isinstance(named, LeftOut)
    assert "meets a fault of Quotree's own at " in named.text
    assert "PoisonedRule" in named.trace


@pytest.mark.usefixtures("failing_rule")
def test_parent_is_judged_without_it() -> None:
    found = judged(tree(STORED), "research/ 3", "root")
    assert codes(found) == [("SumOfMinExceedsParent", "QuotaGroup/research"), ("SetAside", "QuotaGroup/faulty")]


@pytest.mark.usefixtures("failing_rule")
def test_groups_that_the_rule_does_not_look_at_are_judged_with_all_others() -> None:
    assert codes(judged(tree(f"{STORED}other/ 4\n  a 2"), "b 2", "other")) == []


@pytest.mark.usefixtures("failing_rule")
@pytest.mark.parametrize("stored", [STORED, STORED.replace(f"  faulty {UNLUCKY}\n", "")], ids=["stored", "new"])
def test_edit_of_the_group_itself_fails(stored: str) -> None:
    with pytest.raises(PoisonedRule):
        judged(tree(stored), f"faulty {UNLUCKY} w1")


def test_edit_with_which_alone_a_rule_fails_passes_no_rule_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a value that makes the sum fail would be a way beyond the parent's min."""
    add_up = sums.sum_of_min

    def failing(groups: Any) -> Any:
        found = list(groups)
        if {"vision", "nlp"} <= {each.name for each in found}:
            raise PoisonedRule
        return add_up(found)

    monkeypatch.setattr(sums, "sum_of_min", failing)
    with pytest.raises(PoisonedRule):
        judged(tree("research/ 8\n  vision 4"), "nlp 400")


@pytest.mark.usefixtures("failing_rule")
def test_of_two_such_groups_both_are_named() -> None:
    found = judged(tree(f"{STORED}  second {UNLUCKY}"), "vision 6")
    assert sorted(codes(found)) == [("SetAside", "QuotaGroup/faulty"), ("SetAside", "QuotaGroup/second")]


def test_flavor_is_judged_without_another_one_on_which_a_rule_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    warn = flavor_rules.warn_unlabelled_beside_labelled

    def failing(flavors: Any) -> Any:
        if "faulty" in flavors:
            raise PoisonedRule
        return warn(flavors)

    monkeypatch.setattr(flavor_rules, "warn_unlabelled_beside_labelled", failing)
    new = Flavor("a100", node_labels={"model": "a100"})
    edit = FlavorEdit("id", "a100", "uid", "", None, new)
    stored = Context(flavors={"faulty": Flavor("faulty"), "t4": replace(new, name="t4")})
    found = judge_flavor_alone(edit, tree(STORED), stored)
    assert ("SetAside", "ResourceFlavor/faulty") in codes(found)


async def test_siblings_of_a_stored_group_are_edited_while_a_rule_fails_on_it(
    replicas: Replicas, client: Client
) -> None:
    await client.create(QUOTA_GROUPS, quota_group("research", gpu=20, isParent=True))
    await client.create(QUOTA_GROUPS, quota_group("faulty", "research", UNLUCKY))
    await client.create(QUOTA_GROUPS, quota_group("vision", "research", 4))
    (number,) = await asyncio.to_thread(replicas.start, 1, module="tests.webhook.poisoned")
    assert (await answer(client.patch_merge(QUOTA_GROUPS, "vision", quota_group("vision", "research", 6))))[0] == 0
    code, message = await answer(client.create(QUOTA_GROUPS, quota_group("nlp", "research", 15)))
    assert (code, "(SumOfMinExceedsParent)" in message) == (422, True)
    assert await answer(client.create(QUOTA_GROUPS, quota_group("nlp", "research", 14))) == (0, "")
    assert "Left out: our own bug" in replicas.log(number)
