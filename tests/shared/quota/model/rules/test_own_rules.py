"""Rules about one object, through the model and through a real API server."""

import json
from typing import Any

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from shared.quota.model import rules
from shared.quota.model.read.groups import read_flavor_manifest, read_group_manifest
from shared.quota.model.rules import Violation
from shared.quota.model.tree import Entry, Group, Tree
from tests.shared.quota.model.rules.own_cases import FLAVOR_CASES, GROUP_CASES, Case
from tests.versions import wait_until_served

CONTEXT = rules.Context()


def manifest(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def refused_name(case: Case) -> str:
    return case.refused_name or case.name


@pytest.mark.parametrize("case", GROUP_CASES.values(), ids=GROUP_CASES)
def test_group_is_accepted_at_each_limit_and_refused_beyond(case: Case) -> None:
    fine = Tree.of([read_group_manifest(manifest("QuotaGroup", case.name, case.accepted))])
    broken = Tree.of([read_group_manifest(manifest("QuotaGroup", refused_name(case), case.refused))])
    found = rules.check_tree(broken, CONTEXT)

    assert rules.check_tree(fine, CONTEXT).violations == ()
    assert Violation(case.code, f"QuotaGroup/{refused_name(case)}", case.field, case.message) in found.violations
    assert {each.rule for each in found.violations} == {case.code}


@pytest.mark.parametrize("case", GROUP_CASES.values(), ids=GROUP_CASES)
def test_group_is_refused_at_its_creation(case: Case) -> None:
    name = refused_name(case)
    broken = Tree.of([read_group_manifest(manifest("QuotaGroup", name, case.refused))])
    found = rules.check_change(Tree.of([]), broken, name, CONTEXT)
    assert case.code in {each.rule for each in found.violations}


@pytest.mark.parametrize(("number", "more"), [(8, ""), (9, " and 1 more"), (10, " and 2 more")])
def test_long_list_of_resources_ends_with_how_many_more_there_are(number: int, more: str) -> None:
    names = [f"example.com/r{each}" for each in range(number)]
    quotas = (Entry("x", max=dict.fromkeys(names, 1)), Entry("y", max={names[0]: 1}))
    (found,) = rules.check_tree(Tree.of([Group("a", quotas=quotas)]), CONTEXT).violations
    assert f"x covers {', '.join(names[:8])}{more}; " in found.message


@pytest.mark.parametrize("case", FLAVOR_CASES.values(), ids=FLAVOR_CASES)
def test_flavor_is_accepted_at_each_limit_and_refused_beyond(case: Case) -> None:
    fine = read_flavor_manifest(manifest("ResourceFlavor", case.name, case.accepted))
    broken = read_flavor_manifest(manifest("ResourceFlavor", refused_name(case), case.refused))

    assert rules.check_flavor(fine) == []
    assert rules.check_flavor(broken) == [
        Violation(case.code, f"ResourceFlavor/{refused_name(case)}", case.field, case.message)
    ]


@pytest.fixture(scope="module")
def with_definitions(control_plane: ControlPlane) -> ControlPlane:
    """A control plane with the two CRDs and without any webhook."""
    for definition in (quotagroup_definition(), flavor_definition()):
        control_plane.apply(json.dumps(definition))
    wait_until_served(control_plane)
    return control_plane


def create(control_plane: ControlPlane, plural: str, body: dict[str, Any]) -> tuple[int, str]:
    """Status code and message of a strict dry-run creation."""
    path = f"/apis/quotree.dev/v1alpha1/{plural}?dryRun=All&fieldValidation=Strict"
    code, answer = control_plane.rest.request("POST", path, body)
    return code, answer.get("message", "")


@pytest.mark.parametrize("case", GROUP_CASES.values(), ids=GROUP_CASES)
def test_group_schema_refuses_what_the_rules_refuse(case: Case, with_definitions: ControlPlane) -> None:
    code, text = create(with_definitions, "quotagroups", manifest("QuotaGroup", case.name, case.accepted))
    assert (code, text) == (201, "")
    code, text = create(with_definitions, "quotagroups", manifest("QuotaGroup", refused_name(case), case.refused))
    assert_refused(case, code, text)


@pytest.mark.parametrize("case", FLAVOR_CASES.values(), ids=FLAVOR_CASES)
def test_flavor_schema_refuses_what_the_rules_refuse(case: Case, with_definitions: ControlPlane) -> None:
    code, text = create(with_definitions, "resourceflavors", manifest("ResourceFlavor", case.name, case.accepted))
    assert (code, text) == (201, "")
    body = manifest("ResourceFlavor", refused_name(case), case.refused)
    code, text = create(with_definitions, "resourceflavors", body)
    assert_refused(case, code, text)


def assert_refused(case: Case, code: int, text: str) -> None:
    assert code in (400, 422), text
    if not case.by_schema:
        assert f"{case.schema_says or case.message} ({case.code})" in text


def test_largest_legal_group_is_within_the_cel_cost_budget(with_definitions: ControlPlane) -> None:
    amounts = {f"example.com/resource-{at}": "1024Mi" for at in range(64)}
    limits = dict.fromkeys(("min", "max", "borrowingLimit", "lendingLimit", "weight"), amounts)
    spec = {"quotas": [{"flavor": f"flavor-{at}", **limits} for at in range(64)]}
    assert create(with_definitions, "quotagroups", manifest("QuotaGroup", "big", spec)) == (201, "")


def test_group_prints_its_columns_and_can_be_selected_by_parent(with_definitions: ControlPlane) -> None:
    with_definitions.apply(json.dumps(manifest("QuotaGroup", "printed", {"parent": "columns-parent"})))
    status = {
        "conditions": [{"type": "Active", "status": "True"}],
        "columns": {"min": "cpu 4", "used": "cpu 2", "runtime": "cpu 3"},
        "workloads": {"pending": 7, "admitted": 1, "ready": 1},
    }
    patch = json.dumps({"status": status})
    with_definitions.kubectl("patch", "qg", "printed", "--subresource=status", "--type=merge", "-p", patch)
    selected = "--field-selector=spec.parent=columns-parent"
    table = with_definitions.kubectl("get", "qg", selected).stdout.splitlines()
    with_definitions.kubectl("delete", "qg", "printed")
    assert [line.split("  ") and line.split() for line in table] == [
        ["NAME", "PARENT", "MIN", "USED", "RUNTIME", "PENDING", "ACTIVE"],
        ["printed", "columns-parent", "cpu", "4", "cpu", "2", "cpu", "3", "7", "True"],
    ]
