"""A lead divides a part of the tree by kubectl, with the chart's role and the verb `divide`, and nothing beyond it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane.programs import binaries
from tests.charts.rendering import find_object, render
from tests.preloaded import Preloaded
from tests.webhook.control_planes import built
from tests.webhook.webhook_process import AdmissionSetup, wait_for, words

pytestmark = pytest.mark.timeout(900)
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
QUOTAS = [{"flavor": "default", "min": {"cpu": 8}, "max": {"cpu": 16}}]


@pytest.fixture(scope="module")
def setup(
    control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded
) -> Iterator[AdmissionSetup]:
    """Two halves of a tree, the chart's roles, `lead` of one half, and `admin` of the whole."""
    with built(control_plane_binaries, tmp_path_factory.mktemp("divided"), preloaded) as made:
        made.flavor("default")
        for half in ("research", "product"):
            made.group(half, isParent=True, quotas=QUOTAS)
            made.group(f"{half}-first", half, quotas=[{"flavor": "default", "min": {"cpu": 2}, "max": {"cpu": 4}}])
        made.open(quota={"requireDivide": True}, quota_objects=True)
        documents = render(control_plane_binaries)
        for role, user in (("quotree-divide", "lead"), ("quotree-admin", "admin")):
            made.create(ROLES, find_object(documents, "ClusterRole", role))
            bind(made, role, user)
        rule = {"apiGroups": ["quotree.dev"], "resources": ["quotagroups"], "verbs": ["divide"]}
        body = {"metadata": {"name": "divide-research"}, "rules": [{**rule, "resourceNames": ["research"]}]}
        made.create(ROLES, body)
        bind(made, "divide-research", "lead")
        yield made


def bind(setup: AdmissionSetup, role: str, user: str) -> None:
    name = f"{role}-{user}"
    setup.control_plane.kubectl("create", "clusterrolebinding", name, f"--clusterrole={role}", f"--user={user}")


def answer(setup: AdmissionSetup, user: str, *arguments: str, stdin: dict[str, Any] | None = None) -> str:
    """What kubectl says to the user."""
    given = json.dumps(stdin) if stdin else None
    return words(setup.control_plane.kubectl(*arguments, "--as", user, input=given, check=False))


def created(setup: AdmissionSetup, user: str, name: str, parent: str, **spec: Any) -> str:
    body = {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}}
    return answer(setup, user, "create", "-f", "-", stdin={**body, "spec": {"parent": parent, **spec}})


def patched(setup: AdmissionSetup, user: str, name: str, **spec: Any) -> str:
    return answer(setup, user, "patch", "qg", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def test_lead_divides_its_half_and_no_more(setup: AdmissionSetup) -> None:
    quotas = [{"flavor": "default", "min": {"cpu": 3}, "max": {"cpu": 4}}]
    wait_for(lambda: created(setup, "lead", "vision", "research", isParent=True, quotas=quotas).endswith("created"), "")
    assert created(setup, "lead", "deep", "vision", quotas=quotas) == "quotagroup.quotree.dev/deep created"
    assert patched(setup, "lead", "deep", weight=None, parent="research") == "quotagroup.quotree.dev/deep patched"
    assert patched(setup, "lead", "research-first", quotas=[]) == "quotagroup.quotree.dev/research-first patched"
    assert answer(setup, "lead", "delete", "qg", "deep") == 'quotagroup.quotree.dev "deep" deleted'
    assert created(setup, "lead", "mine", "product") == (
        "QuotaGroup 'mine' spec.parent: the group is below product, where user lead divides nothing: for that, it "
        "needs the verb divide on QuotaGroup product or one above it (quota.requireDivide); have it granted, or ask a "
        "user who has it (OutsideDivision)"
    )
    for refused in (
        created(setup, "lead", "top", "root"),
        patched(setup, "lead", "research", quotas=[{**QUOTAS[0], "min": {"cpu": 9}}]),
        patched(setup, "lead", "vision", parent="product"),
        patched(setup, "lead", "product-first", parent="research"),
        patched(setup, "lead", "product-first", reclaim={"notice": "1s"}),
        answer(setup, "lead", "label", "qg", "product-first", "team=mine"),
        answer(setup, "lead", "delete", "qg", "product-first"),
    ):
        assert refused.endswith("(OutsideDivision)"), refused


def test_role_for_the_whole_tree_is_not_restricted(setup: AdmissionSetup) -> None:
    wait_for(lambda: created(setup, "admin", "anywhere", "product").endswith("created"), "the role is in force")
    assert patched(setup, "admin", "anywhere", parent="research") == "quotagroup.quotree.dev/anywhere patched"
    assert answer(setup, "admin", "delete", "qg", "anywhere") == 'quotagroup.quotree.dev "anywhere" deleted'
