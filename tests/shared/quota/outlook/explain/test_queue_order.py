"""An explanation says what gives a workload its place, where that is not age. docs/specification.md §6.7 and §14.1."""

from dataclasses import replace

import pytest

from reconciler.visibility.objects.naming import redacted
from shared.json_data import Json
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.tree import NAMESPACE_ACCOUNTS
from shared.quota.outlook.advise.json_output import explanation_as_data
from shared.quota.outlook.advise.preemptor_names import PreemptorNames
from shared.quota.outlook.advise.remedy import NO_ADVICE
from shared.quota.outlook.explain.explanation import explain
from shared.text.explanation import lines, order_text
from tests.builders import NOW, after, pending, running, world
from tests.trees import GPU

FULL = "root 1\n  a ..1 {}"
HOUR = 3_600_000


def explained(found: World, key: str) -> Json:
    snapshot = measure(found, NOW)
    (workload,) = (each for each in snapshot.leaves["a"].pending if each.key == key)
    explanation = explain(snapshot, plan(snapshot), workload)
    return explanation_as_data(explanation, NO_ADVICE, PreemptorNames(found))


def contended(order: str) -> World:
    """One GPU, which namespace `busy` or user `ann` uses; two others wait beside them."""
    jobs = [running("a", 1, "runs", namespace="busy", user="ann")]
    jobs += [pending("a", 1, f"j{n}", namespace="busy", user="ann", created=after(-9)) for n in range(2)]
    jobs += [pending("a", 1, "j2", namespace="idle", user="bob"), pending("a", 1, "j3", namespace="new")]
    used = {"busy": {GPU: 3 * HOUR}, "ann": {GPU: 3 * HOUR}, "idle": {GPU: HOUR // 2}, "bob": {GPU: HOUR // 2}}
    return replace(world(FULL.format(order), jobs), requester_use={"a": used})


@pytest.mark.parametrize(("value", "source"), [(5, ""), (0, "PriorityClass low"), (0, "")])
def test_a_priority_is_shown_if_it_has_a_value_or_a_source(value: int, source: str) -> None:
    job = pending("a", 1, "job", priority=value, priority_source=source)
    found = explained(world("root 1\n  a 1", [running("a", 1, "x"), job]), "ns/job").get("priority")
    assert found == ({"value": value, "from": source} if value or source else None)


def test_the_own_namespace_comes_first_then_those_with_the_least() -> None:
    data = explained(contended("by-namespace"), "busy/j1")
    assert (data["position"], data["order"]["by"], data["order"]["resource"]) == (4, "Namespace", GPU)
    sentence = "place 4: namespace busy has used 3.10 gpu-hours of late, new 0, idle 0.50"
    assert order_text(data["order"], data["position"]) == sentence
    assert sentence in [*lines(data)]


def test_users_and_the_accounts_of_a_namespace_are_named() -> None:
    data = explained(contended("by-user"), "idle/j2")
    assert [each["name"] for each in data["order"]["requesters"]] == ["bob", NAMESPACE_ACCOUNTS + "new", "ann"]
    assert order_text(data["order"], 2) == (
        "place 2: user bob has used 0.50 gpu-hours of late, accounts of namespace new 0, ann 3.10"
    )


def test_a_weight_is_shown() -> None:
    found = contended("by-namespace")
    leaf = replace(found.tree["a"], order_weights={"busy": 2500})
    data = explained(replace(found, tree=found.tree.with_group(leaf)), "busy/j0")
    assert "busy has used 3.10 gpu-hours of late (weight 2500m)" in order_text(data["order"], 1)


def test_namespace_of_weight_zero_is_shown_after_the_others() -> None:
    found = contended("by-namespace")
    leaf = replace(found.tree["a"], order_weights={"new": 0})
    data = explained(replace(found, tree=found.tree.with_group(leaf)), "busy/j0")
    assert [each["name"] for each in data["order"]["requesters"]] == ["busy", "idle", "new"]


def test_age_needs_no_explanation() -> None:
    assert "order" not in explained(contended(""), "busy/j1")


def test_tenants_do_not_see_what_others_have_used() -> None:
    shown = redacted(explained(contended("by-namespace"), "busy/j1"), "busy")
    assert [each["name"] for each in shown["order"]["requesters"]] == ["busy"]
