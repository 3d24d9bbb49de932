"""What the chart's roles allow, which requests its webhooks get, and who may read what."""

import pytest

from dev.controlplane.programs.binaries import Binaries
from tests.charts.rendering import SYSTEM, Object, find_object, render, webhooks


def test_no_webhook_matches_system_namespaces_or_quotree_itself(control_plane_binaries: Binaries) -> None:
    namespaced = [
        hook for hook in webhooks(render(control_plane_binaries)) if hook["rules"][0]["scope"] == "Namespaced"
    ]
    excluded = [hook["namespaceSelector"]["matchExpressions"][0] for hook in namespaced]
    assert len(namespaced) == 24
    assert all(
        each == {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": SYSTEM} for each in excluded
    )


def test_every_workload_webhook_requires_a_quotree_label(control_plane_binaries: Binaries) -> None:
    for hook in webhooks(render(control_plane_binaries)):
        if hook["rules"][0]["scope"] == "Namespaced":
            asked = hook["namespaceSelector"]["matchExpressions"][1:] + hook["objectSelector"]["matchExpressions"]
            wanted = [
                each
                for each in asked
                if each["operator"] in ("Exists", "In") and each["key"].startswith("quotree.dev/")
            ]
            assert wanted, hook["name"]


def test_writes_of_the_reconciler_are_not_reviewed(control_plane_binaries: Binaries) -> None:
    user = "request.userInfo.username != 'system:serviceaccount:quotree-system:quotree-reconciler' && "
    changed = [hook for hook in webhooks(render(control_plane_binaries)) if _operations(hook) == ["UPDATE"]]
    assert len(changed) == 12
    for hook in changed:
        (condition,) = hook["matchConditions"]
        assert user in condition["expression"], hook["name"]


def test_creations_are_reviewed_without_a_condition(control_plane_binaries: Binaries) -> None:
    """The API server need not copy the object to evaluate anything."""
    created = [hook for hook in webhooks(render(control_plane_binaries)) if _operations(hook) == ["CREATE"]]
    assert len(created) == 12
    assert [hook["name"] for hook in created if "matchConditions" in hook] == []


def _operations(hook: Object) -> list[str]:
    (rule,) = hook["rules"]
    found: list[str] = rule["operations"]
    return found


def test_no_role_has_a_wildcard_or_exceeds_what_its_process_writes(control_plane_binaries: Binaries) -> None:
    objects = render(control_plane_binaries)
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
        for rule in find_object(objects, kind, "quotree-webhook")["rules"]
        if set(rule["verbs"]) - {"get", "list", "watch"} and not set(rule["resources"]) <= questions
    ]


def test_webhook_can_ask_who_edits_the_parent_of_a_group(control_plane_binaries: Binaries) -> None:
    rule = {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}
    objects = render(control_plane_binaries, "--set", "metrics.authorization=None")
    assert rule in find_object(objects, "ClusterRole", "quotree-webhook")["rules"]


def test_resource_claims_are_read_only_where_devices_are_counted(control_plane_binaries: Binaries) -> None:
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "resourceclaimtemplates"],
        "verbs": ["list", "watch"],
    }
    with_dashboard = ("--set", "dashboard.enabled=true")
    plain = render(control_plane_binaries, *with_dashboard)
    counted = render(control_plane_binaries, *with_dashboard, "--set", "quota.resources.devices.counted=true")
    for name in ("quotree-reconciler", "quotree-webhook", "quotree-dashboard"):
        before, after = (find_object(objects, "ClusterRole", name)["rules"] for objects in (plain, counted))
        assert [each for each in after if each not in before] == [rule]


@pytest.mark.parametrize("source", ["CertManager", "Given"])
def test_webhook_cannot_write_a_certificate_managed_by_others(control_plane_binaries: Binaries, source: str) -> None:
    given = ("--set", f"webhook.certificates.source={source}", "--set", "webhook.caBundle=YQ==")
    objects = render(control_plane_binaries, *given)
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
    objects = render(control_plane_binaries, *(word for flag in flags for word in ("--set", flag)))
    rules = _stores(objects, "ClusterRole", "Role")
    assert [rule["resources"] for rule in rules] == [["configmaps"], ["configmaps"]]
    hooks = find_object(objects, "ValidatingWebhookConfiguration", "quotree")["webhooks"]
    assert hooks[0]["clientConfig"]["service"]["path"] == "/validate/quotagroups"
    volumes = find_object(objects, "Deployment", "quotree-webhook")["spec"]["template"]["spec"]["volumes"]
    assert any(each["name"] == "callers" for each in volumes) == (by == "Certificate")


def test_caller_path_is_not_in_the_manifest(control_plane_binaries: Binaries) -> None:
    objects = render(control_plane_binaries)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for hook in find_object(objects, kind, "quotree")["webhooks"]:
            assert "path" not in hook["clientConfig"]["service"]


def test_quota_objects_are_readable_by_all_authenticated_users_only_where_enabled(
    control_plane_binaries: Binaries,
) -> None:
    def bindings(*flags: str) -> list[tuple[str, str]]:
        objects = render(control_plane_binaries, *flags)
        found = [each for each in objects if each["kind"] == "ClusterRoleBinding"]
        return [
            (each["roleRef"]["name"], who["name"])
            for each in found
            for who in each["subjects"]
            if who["kind"] == "Group"
        ]

    assert bindings() == []
    assert bindings("--set", "aggregatedRoles.allAuthenticated=true") == [("quotree-view", "system:authenticated")]


def test_metrics_need_no_authorization_only_where_the_chart_disables_it(control_plane_binaries: Binaries) -> None:
    guarded = render(control_plane_binaries, "--set", "serviceMonitor.enabled=true")
    (scrape,) = find_object(guarded, "ServiceMonitor", "quotree")["spec"]["endpoints"]
    assert (scrape["port"], scrape["scheme"], scrape["path"]) == ("metrics", "https", "/metrics")
    assert [_asks_about_readers(guarded, each) for each in ("reconciler", "webhook")] == [True, True]
    assert find_object(guarded, "ClusterRole", "quotree-metrics-reader")["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ]
    open_to_all = render(
        control_plane_binaries, "--set", "serviceMonitor.enabled=true", "--set-string", "metrics.authorization=None"
    )
    (scrape,) = find_object(open_to_all, "ServiceMonitor", "quotree")["spec"]["endpoints"]
    assert (scrape["port"], scrape.get("scheme")) == ("health", None)
    assert [_asks_about_readers(open_to_all, each) for each in ("reconciler", "webhook")] == [False, False]


def _asks_about_readers(objects: list[Object], component: str) -> bool:
    rules = find_object(objects, "ClusterRole", f"quotree-{component}")["rules"]
    return {"tokenreviews", "subjectaccessreviews"} <= {name for each in rules for name in each["resources"]}
