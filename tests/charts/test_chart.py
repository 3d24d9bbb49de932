"""The chart, rendered by the real helm and accepted by the real API server."""

import re

import pytest
import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs.binaries import Binaries
from tests.charts.rendering import CHART, Object, find_object, helm_template, render


def test_api_server_accepts_every_rendered_object(control_plane: ControlPlane) -> None:
    answer = helm_template(control_plane.binaries, "--set", "crds.keep=false")
    objects = [each for each in yaml.load_all(answer.stdout, Loader=yaml.CSafeLoader) if each]
    everywhere = [each for each in objects if "namespace" not in each["metadata"]]
    inside = [
        each | {"metadata": each["metadata"] | {"namespace": "default"}} for each in objects if each not in everywhere
    ]
    text = yaml.dump_all([*everywhere, *inside], Dumper=yaml.CSafeDumper)
    done = control_plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text, check=False)
    # Other tests have installed some of these objects on this control plane, and apply warns where they did otherwise.
    warnings = [line for line in done.stderr.splitlines() if "last-applied-configuration" not in line]
    assert (done.returncode, warnings) == (0, [])


def test_cert_manager_ca_outlives_its_certificates(control_plane_binaries: Binaries) -> None:
    objects = render(control_plane_binaries, "--set", "webhook.certificates.source=CertManager")
    made = {
        (each["kind"], each["metadata"]["name"]): each["spec"]
        for each in objects
        if each["apiVersion"] == "cert-manager.io/v1"
    }
    assert sorted(made) == [
        ("Certificate", "quotree-webhook"),
        ("Certificate", "quotree-webhook-ca"),
        ("Issuer", "quotree-webhook"),
        ("Issuer", "quotree-webhook-self-signed"),
    ]
    authority, leaf = made["Certificate", "quotree-webhook-ca"], made["Certificate", "quotree-webhook"]
    assert (authority["isCA"], authority["issuerRef"]["name"]) == (True, "quotree-webhook-self-signed")
    assert made["Issuer", "quotree-webhook"] == {"ca": {"secretName": authority["secretName"]}}
    assert (leaf["secretName"], leaf["issuerRef"]) == (
        "quotree-webhook-tls",
        {"name": "quotree-webhook", "kind": "Issuer"},
    )
    assert leaf["dnsNames"][0] == "quotree-webhook.quotree-system.svc"
    injected = [each["metadata"]["annotations"] for each in objects if each["kind"].endswith("WebhookConfiguration")]
    assert injected == [{"cert-manager.io/inject-ca-from": "quotree-system/quotree-webhook"}] * 2


def test_cert_manager_can_use_an_existing_issuer(control_plane_binaries: Binaries) -> None:
    flags = ("webhook.certificates.source=CertManager", "webhook.certificates.issuerRef.name=corporate")
    objects = render(control_plane_binaries, *(word for flag in flags for word in ("--set", flag)))
    (leaf,) = [each for each in objects if each["apiVersion"] == "cert-manager.io/v1"]
    assert (leaf["kind"], leaf["spec"]["issuerRef"]) == ("Certificate", {"name": "corporate"})


@pytest.mark.parametrize("component", ["webhook", "reconciler"])
def test_containers_meet_the_restricted_pod_security_standard(control_plane_binaries: Binaries, component: str) -> None:
    pod = find_object(render(control_plane_binaries), "Deployment", f"quotree-{component}")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_changed_setting_replaces_the_pods(control_plane_binaries: Binaries) -> None:
    def checksum(*flags: str) -> str:
        deployment = find_object(render(control_plane_binaries, *flags), "Deployment", "quotree-reconciler")
        return str(deployment["spec"]["template"]["metadata"]["annotations"]["checksum/settings"])

    assert checksum() == checksum()
    assert checksum() != checksum("--set", "quota.reclaim.mode=Strict")


def test_definitions_are_kept_on_uninstall(control_plane_binaries: Binaries) -> None:
    definition = find_object(render(control_plane_binaries), "CustomResourceDefinition", "quotagroups.quotree.dev")
    assert definition["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


@pytest.mark.parametrize(("replicas", "surge"), [(1, 1), (2, 0), (3, 0)])
def test_rolling_upgrade_needs_no_surge_pod(control_plane_binaries: Binaries, replicas: int, surge: int) -> None:
    objects = render(control_plane_binaries, "--set", f"webhook.replicas={replicas}")
    rolling = find_object(objects, "Deployment", "quotree-webhook")["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": surge, "maxUnavailable": 1 - surge}


def test_production_values_are_rendered_and_accepted(control_plane: ControlPlane) -> None:
    file = str(CHART / "values-production.yaml")
    objects = render(
        control_plane.binaries, "-f", file, "--set", "serviceMonitor.enabled=false,prometheusRule.enabled=false"
    )
    inside = [each | {"metadata": each["metadata"] | {"namespace": "default"}} for each in objects if _is_inside(each)]
    done = control_plane.kubectl(
        "apply",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        "-",
        input=yaml.dump_all(inside, Dumper=yaml.CSafeDumper),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {"ServiceMonitor", "PrometheusRule"} < {each["kind"] for each in render(control_plane.binaries, "-f", file)}


def _is_inside(each: Object) -> bool:
    return "namespace" in each["metadata"]


@pytest.mark.parametrize(
    ("settings", "policies"),
    [
        ([], 1),
        (["webhook.certificates.source=CertManager", "webhook.callers.by=Any"], 1),
        (["webhook.certificates.source=Given", "webhook.caBundle=YQ=="], 1),
        (["webhook.certificates.source=Given", "webhook.caBundle=YQ==", "webhook.callers.by=Any"], 0),
    ],
)
def test_admission_policy_reports_a_webhook_that_is_not_ready_yet(
    control_plane_binaries: Binaries, settings: list[str], policies: int
) -> None:
    objects = render(control_plane_binaries, *(word for each in settings for word in ("--set", each)))
    named = [each for each in objects if each["metadata"]["name"] == "quotree-webhook-can-be-called"]
    assert [each["kind"] for each in named].count("ValidatingAdmissionPolicy") == policies


def test_helm_test_checks_both_processes(control_plane_binaries: Binaries) -> None:
    pods = [each for each in render(control_plane_binaries) if each["kind"] == "Pod"]
    assert [pod["spec"]["containers"][0]["args"][1:] for pod in pods] == [
        ["quotree-webhook.quotree-system.svc", "QUOTREE_WEBHOOK_SERVICE_HOST"],
        ["quotree-reconciler.quotree-system.svc", "QUOTREE_RECONCILER_SERVICE_HOST"],
    ]


def test_every_alert_uses_existing_metrics(control_plane_binaries: Binaries) -> None:
    rule = find_object(
        render(control_plane_binaries, "--set", "prometheusRule.enabled=true"), "PrometheusRule", "quotree"
    )
    rules = [each for group in rule["spec"]["groups"] for each in group["rules"]]
    table = (CHART.parents[1] / "docs" / "operations.md").read_text().split("## Metrics")[1]
    named = {name.removesuffix("_bucket") for each in rules for name in re.findall(r"quotree_\w+", each["expr"])}
    assert [name for name in sorted(named) if f"`{name}`" not in table] == []
    assert [each["alert"] for each in rules if f"`{each['alert']}`" not in table] == []
    assert all(each["expr"].count("(") == each["expr"].count(")") for each in rules)
