"""The values by which an organisation names, labels and places what the chart installs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs.binaries import Binaries
from reconciler.settings import ReconcilerSettings
from shared.api.names import PROCESS_LABEL
from shared.process.settings import load_settings
from tests.charts.rendering import CHART, VALUES, Object, find_object, helm_template, render
from tests.project.repository import ROOT
from webhook.settings import WebhookSettings

# What stands outside: kinds of others, which this control plane does not have, are left out.
EVERYTHING = ("--set", "crds.keep=false,visibility.enabled=true,dashboard.enabled=true,grafanaDashboard.enabled=true")
# They are named in documentation and messages, because people bind them; the others have their names from the API.
FIXED = {
    "quotagroups.quotree.dev",
    "resourceflavors.quotree.dev",
    "v1alpha1.visibility.quotree.dev",
    *(f"quotree-{role}" for role in ("view", "admin", "divide", "cluster-view", "events-view", "workloads-view")),
    "quotree-metrics-reader",
}


def rendered(binaries: Binaries, folder: Path, values: str, *flags: str) -> list[Object]:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(VALUES[values]))
    return render(binaries, *EVERYTHING, "-f", str(file), *flags)


def deployments(objects: list[Object]) -> list[Object]:
    found = [each for each in objects if each["kind"] == "Deployment"]
    assert len(found) == 3
    return found


@pytest.mark.parametrize("values", VALUES)
def test_api_server_accepts_what_each_value_renders(control_plane: ControlPlane, tmp_path: Path, values: str) -> None:
    objects = rendered(control_plane.binaries, tmp_path, values)
    for each in objects:
        if each["metadata"].get("namespace") == "quotree-system":
            each["metadata"]["namespace"] = "default"
    text = yaml.dump_all(objects, Dumper=yaml.CSafeDumper)
    done = control_plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text, check=False)
    # Other tests have installed some of these objects on this control plane, and apply warns where they did otherwise.
    warnings = [line for line in done.stderr.splitlines() if "last-applied-configuration" not in line]
    assert (done.returncode, warnings) == (0, [])


def test_name_override_is_the_name_label_and_selects_the_pods(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "nameOverride")
    assert {each["metadata"]["labels"]["app.kubernetes.io/name"] for each in objects} == {"shares"}
    for each in deployments(objects):
        selected = each["spec"]["selector"]["matchLabels"]
        assert selected["app.kubernetes.io/name"] == "shares"
        assert selected.items() <= each["spec"]["template"]["metadata"]["labels"].items()
    names = {each["metadata"]["name"] for each in objects}
    assert names == {each["metadata"]["name"] for each in render(control_plane_binaries, *EVERYTHING)}


def test_every_object_but_those_with_fixed_names_begins_with_the_full_name(
    control_plane_binaries: Binaries, tmp_path: Path
) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "fullnameOverride")
    names = {each["metadata"]["name"] for each in objects}
    assert {name for name in names if not re.match("acme-quota(-|$)", name)} <= FIXED
    left = re.findall(r"quotree-[a-z-]+", "\n".join(yaml.safe_dump(each) for each in objects if _is_named(each)))
    # The namespace of the release, the programs of the image, and a path in their containers.
    assert set(left) <= {"quotree-system", "quotree-webhook", "quotree-reconciler", "quotree-dashboard"}
    programs = [each["spec"]["template"]["spec"]["containers"][0]["command"] for each in deployments(objects)]
    assert sorted(left.count(program) for (program,) in programs) == [1, 1, 1]


def _is_named(each: Object) -> bool:
    return each["kind"] != "CustomResourceDefinition" and each["metadata"]["name"] not in FIXED


def test_processes_read_the_names_that_the_objects_have(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "fullnameOverride")

    def settings(component: str, kind: type[Any]) -> Any:
        file = tmp_path / f"{component}.yaml"
        file.write_text(find_object(objects, "ConfigMap", f"acme-quota-{component}")["data"][file.name])
        return load_settings(file, kind)

    webhook, reconciler = settings("webhook", WebhookSettings), settings("reconciler", ReconcilerSettings)
    assert find_object(objects, "ValidatingWebhookConfiguration", webhook.configuration_name)
    assert find_object(objects, "Service", webhook.certificates.service)
    assert webhook.reconciler == "system:serviceaccount:quotree-system:acme-quota-reconciler"
    assert find_object(objects, "ServiceAccount", "acme-quota-reconciler")
    assert find_object(objects, "Lease", reconciler.leader_election.name)
    service = find_object(objects, "APIService", "v1alpha1.visibility.quotree.dev")["spec"]["service"]
    assert find_object(objects, "Service", service["name"])
    assert service["name"] == reconciler.visibility.service
    granted = {
        (resource, name)
        for component in ("webhook", "visibility")
        for rule in find_object(objects, "Role", f"acme-quota-{component}")["rules"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [])
    }
    assert granted == {
        ("secrets", webhook.certificates.secret_name),
        ("secrets", webhook.callers.secret_name),
        ("secrets", reconciler.visibility.secret_name),
        ("configmaps", webhook.edits.config_map),
    }


def test_common_labels_are_on_every_object_and_pod(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "commonLabels")
    wanted = VALUES["commonLabels"]["commonLabels"].items()
    assert [each["metadata"]["name"] for each in objects if not wanted <= each["metadata"]["labels"].items()] == []
    for each in deployments(objects):
        assert wanted <= each["spec"]["template"]["metadata"]["labels"].items()
        assert not wanted & each["spec"]["selector"]["matchLabels"].items()


def test_pod_labels_are_on_every_pod_and_nothing_else(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "podLabels")
    wanted = VALUES["podLabels"]["podLabels"].items()
    labelled = {each["kind"] for each in objects if wanted <= each["metadata"]["labels"].items()}
    assert labelled == {"Pod"}
    assert all(wanted <= each["spec"]["template"]["metadata"]["labels"].items() for each in deployments(objects))


def test_every_service_account_has_the_annotations(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "serviceAccount")
    accounts = [each for each in objects if each["kind"] == "ServiceAccount"]
    assert len(accounts) == 3
    assert all(
        each["metadata"]["annotations"] == VALUES["serviceAccount"]["serviceAccount"]["annotations"]
        for each in accounts
    )


def test_a_spread_constraint_selects_the_replicas_of_its_own_process(
    control_plane_binaries: Binaries, tmp_path: Path
) -> None:
    for each in deployments(rendered(control_plane_binaries, tmp_path, "topologySpreadConstraints")):
        (constraint,) = each["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert constraint.pop("labelSelector") == {"matchLabels": each["spec"]["selector"]["matchLabels"]}
        assert constraint == VALUES["topologySpreadConstraints"]["topologySpreadConstraints"][0]


def test_a_label_selector_of_a_spread_constraint_is_kept(control_plane_binaries: Binaries) -> None:
    own = "topologySpreadConstraints[0].labelSelector.matchLabels.app=x"
    with_rest = f"topologySpreadConstraints[0].{{}}={{}},{own}"
    given = {"maxSkew": "1", "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    flags = [word for key, value in given.items() for word in ("--set", with_rest.format(key, value))]
    for each in deployments(render(control_plane_binaries, *EVERYTHING, *flags)):
        (constraint,) = each["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert constraint["labelSelector"] == {"matchLabels": {"app": "x"}}


def test_no_spread_constraint_is_rendered_from_an_empty_list(control_plane_binaries: Binaries) -> None:
    for each in deployments(render(control_plane_binaries, *EVERYTHING, "--set-json", "topologySpreadConstraints=[]")):
        assert "topologySpreadConstraints" not in each["spec"]["template"]["spec"]


def test_what_the_api_server_calls_runs_on_the_host_network(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    def on_host(objects: list[Object]) -> set[str]:
        pods = {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in deployments(objects)}
        found = {name for name, pod in pods.items() if pod.get("hostNetwork")}
        # Else names of Services, among them the API server's, would be asked of the node's resolver.
        assert {name for name, pod in pods.items() if pod.get("dnsPolicy") == "ClusterFirstWithHostNet"} == found
        return found

    assert on_host(render(control_plane_binaries, *EVERYTHING)) == set()
    objects = rendered(control_plane_binaries, tmp_path, "hostNetwork")
    assert on_host(objects) == {"quotree-webhook", "quotree-reconciler"}
    unserved = rendered(control_plane_binaries, tmp_path, "hostNetwork", "--set", "visibility.enabled=false")
    assert on_host(unserved) == {"quotree-webhook"}


def test_an_upgrade_on_the_host_network_frees_the_ports_of_the_node_first(
    control_plane_binaries: Binaries, tmp_path: Path
) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "hostNetwork", "--set", "webhook.replicas=1")
    rolling = find_object(objects, "Deployment", "quotree-webhook")["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": 0, "maxUnavailable": 1}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"image": {"repository": ""}},
            "image.repository is empty: set it to where your nodes can pull the image from",
        ),
        (
            {"commonLabels": {"helm.sh/chart": "x"}},
            "commonLabels has the key helm.sh/chart, which the chart sets itself",
        ),
        ({"podLabels": {"quotree.dev/group": "x"}}, "podLabels has the key quotree.dev/group"),
        (
            {"podLabels": {"a": "x"}, "commonLabels": {"a": "z"}},
            "podLabels has the key a, which is in commonLabels, too",
        ),
        ({"commonLabels": {"a": 1}}, "at '/commonLabels/a': got number, want string"),
        ({"commonLabels": {"a": "b c"}}, "at '/commonLabels/a': 'b c' does not match pattern"),
        ({"podLabels": {"a b": "c"}}, "'a b' does not match pattern"),
        ({"fullnameOverride": "Acme"}, "at '/fullnameOverride'"),
        ({"nameOverride": "a b"}, "at '/nameOverride'"),
        ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "missing properties 'topologyKey', 'whenUnsatisfiable'"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(
    control_plane_binaries: Binaries, tmp_path: Path, values: dict[str, Any], words: str
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    answer = helm_template(control_plane_binaries, "-f", str(file))
    assert answer.returncode != 0
    assert words in answer.stderr


@pytest.mark.parametrize("values", VALUES)
def test_the_command_line_finds_what_is_installed_by_a_label_that_no_value_changes(
    control_plane_binaries: Binaries, tmp_path: Path, values: str
) -> None:
    objects = rendered(control_plane_binaries, tmp_path, values)
    found = {(each["kind"], each["metadata"]["labels"].get(PROCESS_LABEL)) for each in objects}
    processes = ("webhook", "reconciler", "dashboard")
    wanted = {(kind, process) for kind in ("Deployment", "ConfigMap") for process in processes}
    assert {each for each in found if each[1]} == wanted


def test_replicas_of_production_values_are_spread_under_another_name(
    control_plane_binaries: Binaries, tmp_path: Path
) -> None:
    objects = rendered(control_plane_binaries, tmp_path, "nameOverride", "-f", str(CHART / "values-production.yaml"))
    for each in deployments(objects):
        template = each["spec"]["template"]
        (spread,) = template["spec"]["topologySpreadConstraints"]
        assert spread["whenUnsatisfiable"] == "DoNotSchedule"
        assert spread["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


def test_production_values_hold_only_what_differs_from_the_defaults() -> None:
    def same(default: Any, given: Any, path: str) -> list[str]:
        if isinstance(default, dict) and isinstance(given, dict):
            return [each for key in given for each in same(default.get(key), given[key], f"{path}.{key}")]
        return [path] if default == given else []

    defaults, production = (
        yaml.safe_load((CHART / name).read_text()) for name in ("values.yaml", "values-production.yaml")
    )
    assert same(defaults, production, "") == []


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), ("dashboard.enabled=true (docs/dashboard.md)", "visibility.enabled=true (docs/visibility.md)")),
        (
            ("--set", "dashboard.enabled=true,visibility.enabled=true,fullnameOverride=acme"),
            ("acme-dashboard in namespace notes, port 443", "kubectl get pendingworkloads --namespace NAMESPACE"),
        ),
    ],
)
def test_notes_name_the_dashboard_the_visibility_api_and_the_examples(
    control_plane: ControlPlane, flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    # Other tests have installed those objects whose names are the same for all releases.
    shared = "crds.enabled=false,aggregatedRoles.enabled=false,apiPriority.enabled=false,metrics.authorization=None"
    command = ("install", "notes", str(CHART), "--namespace", "notes", "--dry-run=client", "--set", shared)
    notes = control_plane.helm(*command, *flags).stdout.partition("NOTES:")[2]
    for each in (*words, "quotree dashboard\n", "kubectl apply -f examples/"):
        assert each in notes
    assert re.findall(r"\n\n\n", notes.strip()) == []
    for page in re.findall(r"docs/[\w/-]+\.md", notes):
        assert (ROOT / page).exists()
