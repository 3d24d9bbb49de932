"""The dashboard in the cluster: off by default, hardened like the others, and able to read and nothing else."""

from pathlib import Path

import yaml

from dashboard.http.proxied_guard import needed
from dashboard.settings import DashboardSettings
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs.binaries import Binaries
from shared.process.metrics_server import MetricsAuthorization, MetricsSettings
from shared.process.settings import load_settings
from tests.charts.rendering import find_object, render

ON = ("--set", "dashboard.enabled=true")


def test_dashboard_is_off_by_default(control_plane_binaries: Binaries) -> None:
    assert not [each for each in render(control_plane_binaries) if "dashboard" in each["metadata"]["name"]]


def test_api_server_accepts_the_dashboard_objects(control_plane: ControlPlane) -> None:
    wanted = [each for each in render(control_plane.binaries, *ON) if each["metadata"]["name"] == "quotree-dashboard"]
    kinds = [
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "Service",
        "ServiceAccount",
    ]
    assert sorted(each["kind"] for each in wanted) == kinds
    for each in wanted:
        if "namespace" in each["metadata"]:
            each["metadata"]["namespace"] = "default"
    text = yaml.safe_dump_all(wanted)
    done = control_plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_dashboard_role_has_only_read_and_access_review_rights(control_plane_binaries: Binaries) -> None:
    rules = find_object(render(control_plane_binaries, *ON), "ClusterRole", "quotree-dashboard")["rules"]
    verbs = {resource: tuple(rule["verbs"]) for rule in rules for resource in rule["resources"]}
    asked = {"tokenreviews", "subjectaccessreviews"}
    assert {verbs.pop(resource) for resource in asked} == {("create",)}
    assert verbs.pop("leases") == ("list",)  # whether a reconciler leads
    assert set(verbs.values()) == {("list", "watch")}
    assert not {"secrets", "configmaps", "events"} & verbs.keys()


def test_dashboard_role_lists_the_past_use_of_groups_where_it_is_served(control_plane_binaries: Binaries) -> None:
    for served, verbs in (("true", [["list"]]), ("false", [])):
        objects = render(control_plane_binaries, *ON, "--set", f"visibility.enabled={served}")
        rules = find_object(objects, "ClusterRole", "quotree-dashboard")["rules"]
        assert [rule["verbs"] for rule in rules if "groupexplanations" in rule["resources"]] == verbs


def test_dashboard_role_covers_the_governed_kinds(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    objects = render(control_plane_binaries, *ON, "--set", "integrations={jobset}")
    rules = find_object(objects, "ClusterRole", "quotree-dashboard")["rules"]
    assert [rule["verbs"] for rule in rules if "jobsets" in rule["resources"]] == [["list", "watch"]]
    file = tmp_path / "dashboard.yaml"
    file.write_text(find_object(objects, "ConfigMap", "quotree-dashboard")["data"][file.name])
    kinds = load_settings(file, DashboardSettings).governed
    assert [each["resourceAttributes"]["resource"] for each in needed(kinds)][-1] == "jobsets"


def test_dashboard_reads_the_settings_that_the_chart_writes(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    flags = (*ON, "--set", "quota.reclaim.gracePeriod=30s", "--set", "dashboard.port=9000")
    file = tmp_path / "dashboard.yaml"
    file.write_text(
        find_object(render(control_plane_binaries, *flags), "ConfigMap", "quotree-dashboard")["data"][file.name]
    )
    found = load_settings(file, DashboardSettings)
    assert found.quota.settings().reclaim.grace_period.total_seconds() == 30
    assert (found.listen.port, found.metrics) == (9000, MetricsSettings(MetricsAuthorization.TOKEN))


def test_dashboard_pods_are_hardened_and_reachable_only_from_the_proxy(control_plane_binaries: Binaries) -> None:
    proxy = "dashboard.allowedFrom[0].podSelector.matchLabels.app=proxy"
    objects = render(control_plane_binaries, *ON, "--set", proxy)
    pod = find_object(objects, "Deployment", "quotree-dashboard")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"health": 8081, "metrics": 8443, "page": 8444}
    ingress = find_object(objects, "NetworkPolicy", "quotree-dashboard")["spec"]["ingress"]
    (page,) = [each for each in ingress if {"port": "page"} in each["ports"]]
    assert page["from"] == [{"podSelector": {"matchLabels": {"app": "proxy"}}}]
