"""The chart, rendered by the real helm and taken by the real API server."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dev.controlplane.binaries import Binaries
from dev.controlplane.cluster import ControlPlane
from dev.generate import chart_readme
from reconciler.settings import ReconcilerSettings
from shared.process.metrics_server import MetricsAuthorization, MetricsSettings
from shared.process.settings import load_settings
from shared.quota.model.settings import QuotaSettings
from webhook.settings import WebhookSettings

CHART = Path(__file__).parent.parent.parent / "charts" / "quotree"
SYSTEM = ["kube-system", "kube-node-lease", "kube-public", "quotree-system"]

Object = dict[str, Any]


def _helm(binaries: Binaries, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(binaries.helm), "template", "quotree", str(CHART), "-n", "quotree-system", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _render(binaries: Binaries, *flags: str) -> list[Object]:
    answer = _helm(binaries, *flags)
    assert answer.returncode == 0, answer.stderr
    return [each for each in yaml.load_all(answer.stdout, Loader=yaml.CSafeLoader) if each]


def _of(objects: list[Object], kind: str, name: str) -> Object:
    (found,) = [each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def _hooks(objects: list[Object]) -> Iterator[Object]:
    for each in objects:
        if each["kind"].endswith("WebhookConfiguration"):
            yield from each["webhooks"]


def test_api_server_accepts_every_rendered_object(control_plane: ControlPlane) -> None:
    answer = _helm(control_plane.binaries, "--set", "crds.keep=false")
    objects = [each for each in yaml.load_all(answer.stdout, Loader=yaml.CSafeLoader) if each]
    everywhere = [each for each in objects if "namespace" not in each["metadata"]]
    inside = [
        each | {"metadata": each["metadata"] | {"namespace": "default"}} for each in objects if each not in everywhere
    ]
    text = yaml.dump_all([*everywhere, *inside], Dumper=yaml.CSafeDumper)
    done = control_plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("component", "settings"), [("webhook", WebhookSettings), ("reconciler", ReconcilerSettings)])
def test_processes_read_the_settings_that_the_chart_writes(
    control_plane_binaries: Binaries, tmp_path: Path, component: str, settings: type[Any]
) -> None:
    flags = ("--set", "quota.reclaim.gracePeriod=30s", "--set", "quota.startup.limit=3")
    written = _of(_render(control_plane_binaries, *flags), "ConfigMap", f"quotree-{component}")["data"]
    file = tmp_path / f"{component}.yaml"
    file.write_text(written[f"{component}.yaml"])
    quota = load_settings(file, settings).quota.settings()
    assert (quota.reclaim.grace_period.total_seconds(), quota.startup.limit) == (30, 3)


def test_documented_defaults_match_the_engine(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    written = _of(_render(control_plane_binaries), "ConfigMap", "quotree-reconciler")["data"]["reconciler.yaml"]
    file = tmp_path / "reconciler.yaml"
    file.write_text(written)
    assert load_settings(file, ReconcilerSettings).quota.settings() == QuotaSettings()


def test_documented_webhook_defaults_match_its_settings(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    written = _of(_render(control_plane_binaries), "ConfigMap", "quotree-webhook")["data"]["webhook.yaml"]
    file = tmp_path / "webhook.yaml"
    file.write_text(written)
    found = load_settings(file, WebhookSettings)
    assert (found.home, found.reconciler) == (
        "quotree-system",
        "system:serviceaccount:quotree-system:quotree-reconciler",
    )
    assert found.metrics == MetricsSettings(MetricsAuthorization.TOKEN)
    own = WebhookSettings()
    assert msgspec.structs.replace(found, namespace="", reconciler_user="", metrics=own.metrics) == own


def test_no_webhook_matches_system_namespaces_or_quotree_itself(control_plane_binaries: Binaries) -> None:
    namespaced = [hook for hook in _hooks(_render(control_plane_binaries)) if hook["rules"][0]["scope"] == "Namespaced"]
    excluded = [hook["namespaceSelector"]["matchExpressions"][0] for hook in namespaced]
    assert len(namespaced) == 12
    assert all(
        each == {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": SYSTEM} for each in excluded
    )


def test_every_workload_webhook_requires_a_quotree_label(control_plane_binaries: Binaries) -> None:
    for hook in _hooks(_render(control_plane_binaries)):
        if hook["rules"][0]["scope"] == "Namespaced":
            asked = hook["namespaceSelector"]["matchExpressions"][1:] + hook["objectSelector"]["matchExpressions"]
            wanted = [
                each
                for each in asked
                if each["operator"] in ("Exists", "In") and each["key"].startswith("quotree.dev/")
            ]
            assert wanted, hook["name"]


def test_writes_of_the_reconciler_are_not_reviewed(control_plane_binaries: Binaries) -> None:
    objects = _render(control_plane_binaries)
    user = "system:serviceaccount:quotree-system:quotree-reconciler"
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        hooks = [hook for hook in _of(objects, kind, "quotree")["webhooks"] if "matchConditions" in hook]
        assert {each["expression"] for hook in hooks for each in hook["matchConditions"][1:]} == {
            f"request.operation == 'CREATE' || request.userInfo.username != '{user}'"
        }


def test_no_role_has_a_wildcard_or_exceeds_what_its_process_writes(control_plane_binaries: Binaries) -> None:
    objects = _render(control_plane_binaries)
    roles = [each for each in objects if each["kind"] in ("Role", "ClusterRole") and "aggregate" not in str(each)]
    words = [
        word
        for role in roles
        for rule in role["rules"]
        for part in ("apiGroups", "resources", "verbs")
        for word in rule.get(part, ())
    ]
    assert "*" not in words
    writes = {resource for rule in _stores(objects, "ClusterRole") for resource in rule["resources"]}
    assert writes == {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}


def _stores(objects: list[Object], *kinds: str) -> list[Object]:
    """The webhook's rules that let it write; questions about readers of its metrics are not stored."""
    questions = {"tokenreviews", "subjectaccessreviews"}
    return [
        rule
        for kind in kinds
        for rule in _of(objects, kind, "quotree-webhook")["rules"]
        if set(rule["verbs"]) - {"get", "list", "watch"} and not set(rule["resources"]) <= questions
    ]


def test_subject_access_reviews_are_granted_only_where_group_use_is_restricted(
    control_plane_binaries: Binaries,
) -> None:
    rule = {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}
    open_metrics = ("--set", "metrics.authorization=None")
    plain, required = (
        _of(_render(control_plane_binaries, *flags), "ClusterRole", "quotree-webhook")["rules"]
        for flags in (open_metrics, (*open_metrics, "--set", "quota.requireUse=true"))
    )
    assert [each for each in required if each not in plain] == [rule]


def test_resource_claims_are_read_only_where_devices_are_counted(control_plane_binaries: Binaries) -> None:
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "resourceclaimtemplates"],
        "verbs": ["list", "watch"],
    }
    with_dashboard = ("--set", "dashboard.enabled=true")
    plain = _render(control_plane_binaries, *with_dashboard)
    counted = _render(control_plane_binaries, *with_dashboard, "--set", "quota.resources.devices.counted=true")
    for name in ("quotree-reconciler", "quotree-webhook", "quotree-dashboard"):
        before, after = (_of(objects, "ClusterRole", name)["rules"] for objects in (plain, counted))
        assert [each for each in after if each not in before] == [rule]


@pytest.mark.parametrize("source", ["CertManager", "Given"])
def test_webhook_cannot_write_a_certificate_managed_by_others(control_plane_binaries: Binaries, source: str) -> None:
    given = ("--set", f"webhook.certificates.source={source}", "--set", "webhook.caBundle=YQ==")
    objects = _render(control_plane_binaries, *given)
    rules = _stores(objects, "ClusterRole", "Role")
    written = [(rule["resources"], rule.get("resourceNames"), rule["verbs"][-1]) for rule in rules]
    configurations = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    assert written == [
        (configurations, ["quotree"], "patch"),
        (["secrets"], ["quotree-webhook-path"], "patch"),
        (["configmaps"], ["quotree-edits"], "update"),
        (["secrets", "configmaps"], None, "create"),
    ]


@pytest.mark.parametrize("by", ["Certificate", "Any"])
def test_webhook_without_a_caller_path_writes_only_coordination_objects(
    control_plane_binaries: Binaries, by: str
) -> None:
    flags = (
        "webhook.certificates.source=Given",
        "webhook.caBundle=Q0E=",
        f"webhook.callers.by={by}",
        "webhook.callers.clientCASecret=api-server",
    )
    objects = _render(control_plane_binaries, *(word for flag in flags for word in ("--set", flag)))
    rules = _stores(objects, "ClusterRole", "Role")
    assert [rule["resources"] for rule in rules] == [["configmaps"], ["configmaps"]]
    hooks = _of(objects, "ValidatingWebhookConfiguration", "quotree")["webhooks"]
    assert hooks[0]["clientConfig"]["service"]["path"] == "/validate/quotagroups"
    volumes = _of(objects, "Deployment", "quotree-webhook")["spec"]["template"]["spec"]["volumes"]
    assert any(each["name"] == "callers" for each in volumes) == (by == "Certificate")


def test_caller_path_is_not_in_the_manifest(control_plane_binaries: Binaries) -> None:
    objects = _render(control_plane_binaries)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in _of(objects, kind, "quotree")["webhooks"]:
            assert "path" not in hook["clientConfig"]["service"]


def test_cert_manager_ca_outlives_its_certificates(control_plane_binaries: Binaries) -> None:
    objects = _render(control_plane_binaries, "--set", "webhook.certificates.source=CertManager")
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
    objects = _render(control_plane_binaries, *(word for flag in flags for word in ("--set", flag)))
    (leaf,) = [each for each in objects if each["apiVersion"] == "cert-manager.io/v1"]
    assert (leaf["kind"], leaf["spec"]["issuerRef"]) == ("Certificate", {"name": "corporate"})


@pytest.mark.parametrize("component", ["webhook", "reconciler"])
def test_containers_meet_the_restricted_pod_security_standard(control_plane_binaries: Binaries, component: str) -> None:
    pod = _of(_render(control_plane_binaries), "Deployment", f"quotree-{component}")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_changed_setting_replaces_the_pods(control_plane_binaries: Binaries) -> None:
    def checksum(*flags: str) -> str:
        deployment = _of(_render(control_plane_binaries, *flags), "Deployment", "quotree-reconciler")
        return str(deployment["spec"]["template"]["metadata"]["annotations"]["checksum/settings"])

    assert checksum() == checksum()
    assert checksum() != checksum("--set", "quota.reclaim.mode=Strict")


def test_definitions_are_kept_on_uninstall(control_plane_binaries: Binaries) -> None:
    definition = _of(_render(control_plane_binaries), "CustomResourceDefinition", "quotagroups.quotree.dev")
    assert definition["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        pytest.param("quota.reclaim.mode=Sometimes", "value must be one of 'OnDemand', 'Strict'", id="unknown word"),
        pytest.param("quota.reclaim.gracePeriod=soon", "at '/quota/reclaim/gracePeriod'", id="no duration"),
        pytest.param("webhoook.replicas=2", "additional properties 'webhoook' not allowed", id="unknown key"),
        pytest.param("webhook.port=0", "at '/webhook/port'", id="no port"),
    ],
)
def test_invalid_value_is_refused_with_its_path(control_plane_binaries: Binaries, setting: str, words: str) -> None:
    answer = _helm(control_plane_binaries, "--set", setting)
    assert answer.returncode != 0
    assert words in answer.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(["webhook.certificates.source=Given"], "webhook.caBundle is empty", id="no CA"),
        pytest.param(["webhook.deploy=false"], "webhook.url is empty", id="no webhook anywhere"),
        pytest.param(["webhook.edits.budget=10s"], "not less than webhook.quotaTimeoutSeconds, 10s", id="budget"),
        pytest.param(
            ["webhook.edits.budget=7s", "webhook.quotaTimeoutSeconds=6"],
            "webhook.edits.budget is 7s, which is not less than webhook.quotaTimeoutSeconds, 6s",
            id="timeout",
        ),
        pytest.param(["webhook.drain=0.75m"], "webhook.drain is 0.75m", id="drain"),
    ],
)
def test_contradicting_values_are_refused(control_plane_binaries: Binaries, settings: list[str], words: str) -> None:
    answer = _helm(control_plane_binaries, *(word for each in settings for word in ("--set", each)))
    assert answer.returncode != 0
    assert words in answer.stderr


@pytest.mark.parametrize(
    "settings",
    [
        ["webhook.certificates.source=Given", "webhook.caBundle=YQ=="],
        ["webhook.deploy=false", "webhook.url=https://10.0.0.7:9443"],
        ["webhook.edits.budget=9900ms", "webhook.drain=39.9s"],
        ["webhook.edits.budget=12s", "webhook.quotaTimeoutSeconds=13"],
    ],
)
def test_values_at_the_edge_are_rendered(control_plane_binaries: Binaries, settings: list[str]) -> None:
    assert _render(control_plane_binaries, *(word for each in settings for word in ("--set", each)))


@pytest.mark.parametrize(("replicas", "surge"), [(1, 1), (2, 0), (3, 0)])
def test_rolling_upgrade_needs_no_surge_pod(control_plane_binaries: Binaries, replicas: int, surge: int) -> None:
    objects = _render(control_plane_binaries, "--set", f"webhook.replicas={replicas}")
    rolling = _of(objects, "Deployment", "quotree-webhook")["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": surge, "maxUnavailable": 1 - surge}


def test_quota_objects_are_readable_by_all_authenticated_users_only_where_enabled(
    control_plane_binaries: Binaries,
) -> None:
    def bindings(*flags: str) -> list[tuple[str, str]]:
        objects = _render(control_plane_binaries, *flags)
        found = [each for each in objects if each["kind"] == "ClusterRoleBinding"]
        return [
            (each["roleRef"]["name"], who["name"])
            for each in found
            for who in each["subjects"]
            if who["kind"] == "Group"
        ]

    assert bindings() == []
    assert bindings("--set", "aggregatedRoles.allAuthenticated=true") == [("quotree-view", "system:authenticated")]


def test_production_values_are_rendered_and_accepted(control_plane: ControlPlane) -> None:
    file = str(CHART / "values-production.yaml")
    objects = _render(
        control_plane.binaries, "-f", file, "--set", "serviceMonitor.enabled=false,prometheusRule.enabled=false"
    )
    inside = [each | {"metadata": each["metadata"] | {"namespace": "default"}} for each in objects if _is_inside(each)]
    done = control_plane.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-", input=yaml.safe_dump_all(inside), check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {"ServiceMonitor", "PrometheusRule"} < {each["kind"] for each in _render(control_plane.binaries, "-f", file)}


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
    objects = _render(control_plane_binaries, *(word for each in settings for word in ("--set", each)))
    named = [each for each in objects if each["metadata"]["name"] == "quotree-webhook-can-be-called"]
    assert [each["kind"] for each in named].count("ValidatingAdmissionPolicy") == policies


def test_helm_test_checks_both_processes(control_plane_binaries: Binaries) -> None:
    pods = [each for each in _render(control_plane_binaries) if each["kind"] == "Pod"]
    assert [pod["spec"]["containers"][0]["args"][1:] for pod in pods] == [
        ["quotree-webhook.quotree-system.svc", "QUOTREE_WEBHOOK_SERVICE_HOST"],
        ["quotree-reconciler.quotree-system.svc", "QUOTREE_RECONCILER_SERVICE_HOST"],
    ]


def test_the_readme_is_generated_from_the_values() -> None:
    assert chart_readme.README.read_text() == chart_readme.readme(), "run python -m dev.generate.chart_readme"


def test_the_readme_has_every_value() -> None:
    def leaves(value: Any, path: str) -> Iterator[str]:
        if isinstance(value, dict) and value:
            for key, below in value.items():
                yield from leaves(below, f"{path}.{key}" if path else key)
        else:
            yield path

    source = (CHART / "values.yaml").read_text()
    listed = [each.path for each in chart_readme.values(source) if each.default]
    inline = {path for path in leaves(yaml.safe_load(source), "") if path not in listed}
    assert {path for path in inline if not any(path.startswith(f"{each}.") for each in listed)} == set()


def test_every_alert_uses_existing_metrics(control_plane_binaries: Binaries) -> None:
    rule = _of(_render(control_plane_binaries, "--set", "prometheusRule.enabled=true"), "PrometheusRule", "quotree")
    rules = [each for group in rule["spec"]["groups"] for each in group["rules"]]
    table = (CHART.parents[1] / "docs" / "operations.md").read_text().split("## Metrics")[1]
    named = {name.removesuffix("_bucket") for each in rules for name in re.findall(r"quotree_\w+", each["expr"])}
    assert [name for name in sorted(named) if f"`{name}`" not in table] == []
    assert [each["alert"] for each in rules if f"`{each['alert']}`" not in table] == []
    assert all(each["expr"].count("(") == each["expr"].count(")") for each in rules)


def test_metrics_need_no_authorization_only_where_the_chart_disables_it(control_plane_binaries: Binaries) -> None:
    guarded = _render(control_plane_binaries, "--set", "serviceMonitor.enabled=true")
    (scrape,) = _of(guarded, "ServiceMonitor", "quotree")["spec"]["endpoints"]
    assert (scrape["port"], scrape["scheme"], scrape["path"]) == ("metrics", "https", "/metrics")
    assert [_asks_about_readers(guarded, each) for each in ("reconciler", "webhook")] == [True, True]
    assert _of(guarded, "ClusterRole", "quotree-metrics-reader")["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ]
    open_to_all = _render(
        control_plane_binaries, "--set", "serviceMonitor.enabled=true", "--set-string", "metrics.authorization=None"
    )
    (scrape,) = _of(open_to_all, "ServiceMonitor", "quotree")["spec"]["endpoints"]
    assert (scrape["port"], scrape.get("scheme")) == ("health", None)
    assert [_asks_about_readers(open_to_all, each) for each in ("reconciler", "webhook")] == [False, False]


def _asks_about_readers(objects: list[Object], component: str) -> bool:
    rules = _of(objects, "ClusterRole", f"quotree-{component}")["rules"]
    return {"tokenreviews", "subjectaccessreviews"} <= {name for each in rules for name in each["resources"]}
