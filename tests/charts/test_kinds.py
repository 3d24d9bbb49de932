"""Governed kinds in the chart: what is rendered from their descriptors, and that nothing is where none is on."""

import json
import subprocess
from typing import Any

import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.generate import presets
from reconciler.settings import ReconcilerSettings
from shared.kinds.descriptor import PRESETS
from shared.kinds.presets import read_preset
from shared.process.settings import load_settings
from tests.charts.rendering import CHART, Object, find_object, helm_template, render, webhooks
from tests.gadgets.gadget import DESCRIPTOR
from webhook.settings import WebhookSettings

RAYJOB: Object = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "resource": "rayjobs",
    "suspend": ".spec.suspend",
    "podSets": [{"name": "head", "template": ".spec.head"}],
    "operators": ["ray"],
    "children": [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "resource": "rayclusters"}],
}
POLICY = "quotree-only-the-reconciler-starts"


def _kinds(*kinds: Any) -> tuple[str, str]:
    return ("--set-json", f"kinds={json.dumps(list(kinds))}")


def _without_kinds(binaries: Binaries) -> str:
    """All objects but the checksums, as text."""
    return yaml.dump_all(render(binaries), Dumper=yaml.CSafeDumper)


def test_disabled_kind_renders_nothing(control_plane_binaries: Binaries) -> None:
    text = _without_kinds(control_plane_binaries)
    assert [each for each in ("jobset", "gadget", "made.", "kinds:") if each in text] == []


def test_governed_kind_is_reviewed_in_its_version_in_managed_namespaces(control_plane_binaries: Binaries) -> None:
    objects = render(control_plane_binaries, *_kinds(DESCRIPTOR))
    for configuration in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        hooks = {each["name"]: each for each in find_object(objects, configuration, "quotree")["webhooks"]}
        names = [f"{scope}.gadgets.gadgets.example.com.quotree.dev" for scope in SCOPES]
        assert [name in hooks for name in names] == [True] * 4
        assert hooks[names[0]]["rules"] == [
            {
                "apiGroups": ["gadgets.example.com"],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["gadgets"],
                "scope": "Namespaced",
            }
        ]


def test_only_the_dialect_sends_new_workloads_with_a_queue_label(control_plane_binaries: Binaries) -> None:
    assert not [each for each in webhooks(render(control_plane_binaries)) if each["name"].startswith("queued")]
    found = [
        each
        for each in webhooks(render(control_plane_binaries, "--set", "dialects={kueue}", *_kinds(DESCRIPTOR)))
        if each["name"].startswith("queued")
    ]
    assert {(each["rules"][0]["resources"][0], *each["rules"][0]["operations"]) for each in found} == {
        ("jobs", "CREATE"), ("pods", "CREATE"), ("gadgets", "CREATE")
    }  # fmt: skip
    wanted = {"key": "kueue.x-k8s.io/queue-name", "operator": "Exists"}
    assert all(wanted in each["objectSelector"]["matchExpressions"] for each in found)


SCOPES = ("labelled", "made", "managed", "namespaced")


def test_objects_labelled_as_parts_of_another_object_are_reviewed_everywhere(control_plane_binaries: Binaries) -> None:
    """Also where nothing else is managed: otherwise any user could write it."""
    made = [
        each for each in webhooks(render(control_plane_binaries, *_kinds(RAYJOB))) if each["name"].startswith("made.")
    ]
    wanted = {"key": "quotree.dev/unit", "operator": "Exists"}
    assert all(wanted in each["objectSelector"]["matchExpressions"] for each in made)
    found = sorted({each["rules"][0]["resources"][0] for each in made})
    assert found == ["jobs", "pods", "rayclusters", "rayjobs"]


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
@pytest.mark.parametrize("resource", ["jobs", "pods", "gadgets"])
def test_each_object_matches_exactly_one_webhook_entry(
    control_plane_binaries: Binaries, resource: str, operation: str
) -> None:
    hooks = [
        each
        for each in find_object(
            render(control_plane_binaries, *_kinds(DESCRIPTOR)), "MutatingWebhookConfiguration", "quotree"
        )["webhooks"]
        if resource in each["rules"][0]["resources"] and operation in each["rules"][0]["operations"]
    ]
    for namespace in ({}, {"quotree.dev/group": "a"}, {"quotree.dev/managed": "true"}, {"quotree.dev/managed": "no"}):
        for own in ({}, {"quotree.dev/group": "a"}, {"quotree.dev/unit": "u"}, {"quotree.dev/group": "a", UNIT: "u"}):
            called = [
                each["name"]
                for each in hooks
                if _matches(each["namespaceSelector"], {"kubernetes.io/metadata.name": "team", **namespace})
                and _matches(each["objectSelector"], own)
            ]
            is_ours = bool(own) or "quotree.dev/group" in namespace or namespace.get("quotree.dev/managed") == "true"
            assert len(called) == (1 if is_ours else 0), (namespace, own, called)


UNIT = "quotree.dev/unit"


def _matches(selector: Object, labels: dict[str, str]) -> bool:
    return all(_holds(each, labels.get(each["key"])) for each in selector["matchExpressions"])


def _holds(requirement: Object, value: str | None) -> bool:
    operator: str = requirement["operator"]
    values: list[str] = requirement.get("values", [])
    if operator in ("Exists", "DoesNotExist"):
        return (value is None) == (operator == "DoesNotExist")
    is_among: bool = value in values
    return is_among == (operator == "In")


def test_granted_rights_match_the_rights_used(control_plane_binaries: Binaries) -> None:
    objects = render(control_plane_binaries, *_kinds(RAYJOB))
    assert _rights(objects, "quotree-reconciler") == {"rayjobs": ["get", "list", "watch", "patch"]}
    read = ["get", "list", "watch"]
    assert _rights(objects, "quotree-webhook") == {"rayjobs": read, "rayclusters": read}


def _rights(objects: list[Object], role: str) -> dict[str, Any]:
    rules = find_object(objects, "ClusterRole", role)["rules"]
    return {each["resources"][0]: each["verbs"] for each in rules if each["apiGroups"] == ["ray.io"]}


def test_admission_policy_reads_the_suspend_flag_at_the_path_of_the_kind(control_plane_binaries: Binaries) -> None:
    policy = find_object(render(control_plane_binaries, *_kinds(DESCRIPTOR)), "ValidatingAdmissionPolicy", POLICY)[
        "spec"
    ]
    resources = [each["resources"] for each in policy["matchConstraints"]["resourceRules"]]
    assert ["gadgets"] in resources
    (runs,) = [each["expression"] for each in policy["variables"] if each["name"] == "runs"]
    (created,) = [
        each["expression"] for each in policy["matchConditions"] if each["name"].endswith("created-suspended")
    ]
    assert all("object.?spec.?control.?paused.orValue(false)" in each for each in (runs, created))
    (own,) = [each["expression"] for each in policy["matchConditions"] if each["name"] == "not-an-operators-own"]
    assert "request.userInfo.username in ['gadget-operator']" in own


@pytest.mark.parametrize(("component", "settings"), [("webhook", WebhookSettings), ("reconciler", ReconcilerSettings)])
def test_both_processes_govern_the_same_kinds(
    control_plane_binaries: Binaries, tmp_path: Any, component: str, settings: type[Any]
) -> None:
    flags = ("--set", "integrations={jobset}", *_kinds(DESCRIPTOR, {"preset": "pytorchjob", "operators": ["me"]}))
    written = find_object(render(control_plane_binaries, *flags), "ConfigMap", f"quotree-{component}")["data"]
    file = tmp_path / f"{component}.yaml"
    file.write_text(written[f"{component}.yaml"])
    found = load_settings(file, settings).governed.all
    assert [each.kind for each in found] == ["JobSet", "Gadget", "PyTorchJob"]
    assert found[2].operators == {"me"}


def test_preset_can_be_overridden(control_plane_binaries: Binaries) -> None:
    flags = _kinds({"preset": "jobset", "operators": ["me"]})
    policy = find_object(render(control_plane_binaries, *flags), "ValidatingAdmissionPolicy", POLICY)["spec"]
    assert "in ['me']" in policy["matchConditions"][1]["expression"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--set", "integrations={argo}"), "integrations"),
        (_kinds({"preset": "argo"}), 'there is no preset "argo"; there are '),
        (_kinds({"kind": "Gadget"}), "apiVersion"),
        (("--set", "integrations={jobset}", *_kinds({"preset": "jobset"})), "twice"),
        (
            _kinds(DESCRIPTOR | {"kind": "Job"}),
            "kinds: Job of gadgets.example.com and Job of batch are ambiguous: ",
        ),
        (_kinds(DESCRIPTOR, DESCRIPTOR | {"apiVersion": "example.net/v1"}), "Gadget of example.net and Gadget of "),
    ],
    ids=["unknown integration", "unknown preset", "half a descriptor", "given twice", "called Job", "called the same"],
)
def test_invalid_kind_is_refused_at_install(
    control_plane_binaries: Binaries, flags: tuple[str, ...], words: str
) -> None:
    answer: subprocess.CompletedProcess[str] = helm_template(control_plane_binaries, *flags)
    assert (answer.returncode != 0, words in answer.stderr) == (True, True), answer.stderr


def test_the_presets_of_the_chart_are_those_of_the_code() -> None:
    files = presets.chart_files()
    assert {path: path.read_text() for path in files} == files, "run `make generated`"
    assert {each.stem for each in (CHART / "presets").iterdir()} == set(PRESETS)


def test_every_preset_is_rendered(control_plane_binaries: Binaries) -> None:
    """All together, with each flag in the policy."""
    objects = render(control_plane_binaries, "--set", f"integrations={{{','.join(PRESETS)}}}")
    text = json.dumps(find_object(objects, "ValidatingAdmissionPolicy", POLICY))
    held = [read_preset(name) for name in PRESETS if read_preset(name).suspend]
    assert held
    for each in held:
        assert f"request.resource.resource == '{each.resource}'" in text
        assert each.suspend.replace(".", ".?") in text


def test_objects_of_gated_kinds_are_validated_but_not_mutated(control_plane_binaries: Binaries) -> None:
    objects = render(control_plane_binaries, *_kinds({"preset": "leaderworkerset"}))
    route = "leaderworkersets.leaderworkerset.x-k8s.io.quotree.dev"
    found = {
        configuration: sum(
            each["name"].endswith(route) for each in find_object(objects, configuration, "quotree")["webhooks"]
        )
        for configuration in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    }
    assert found == {"MutatingWebhookConfiguration": 0, "ValidatingWebhookConfiguration": 3}
