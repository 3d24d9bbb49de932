"""Each alert fires in a real Prometheus when its condition is caused, and ends with it; the dashboard has data.

The rules are the chart's, with seconds in place of minutes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.host.processes import Process
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import NAMESPACE
from dev.prometheus import Programs
from tests.e2e.kubectl_steps import Asking, group, job
from tests.monitoring.conftest import dashboard_in, rendered, rules_in
from tests.monitoring.site import Monitored, hurried, monitored
from tests.reconciler.poisoned import NUMBERED, name_of

ENTITLED: Final = 3
"""Seconds that an entitled workload may wait, and evictions in a hurried half hour, without an alert."""
_TREE: Final = (
    group("research", isParent=True, quotas=[{"min": {"cpu": 8}}]),
    group("vision", "research", quotas=[{"min": {"cpu": 4}}]),
    group("language", "research", quotas=[{"min": {"cpu": 4}}]),
)


@pytest.fixture(scope="module")
def chart(control_plane_binaries: Binaries) -> list[dict[str, Any]]:
    """The chart's objects."""
    limits = f"prometheusRule.entitledWaitSeconds={ENTITLED},prometheusRule.flappingEvictions={ENTITLED}"
    return rendered(control_plane_binaries, limits)


@pytest.fixture(scope="module")
def site(control_plane_binaries: Binaries, programs: Programs, chart: list[dict[str, Any]]) -> Iterator[Monitored]:
    """One node of 8 cpu, promised to two groups."""
    nodes = [NodeSpec("node", allocatable={"cpu": "8", "memory": "16Gi", "pods": "110"})]
    rules = hurried(rules_in(chart))
    for each in rules["groups"][0]["rules"]:
        if each["alert"] == "QuotreeWatchIsSilent":
            # A healthy watch that shows nothing else hears a bookmark once a minute.
            each["expr"] = each["expr"].replace("> 180", "> 80")
    with (
        cluster.start(control_plane_binaries, nodes=nodes) as started,
        monitored(started, programs, rules) as found,
    ):
        asking = Asking(found.quotree, started.kubeconfig)
        found.until("the tree is accepted", lambda: asking.edit_tree(*_TREE).returncode == 0)
        yield found


@pytest.fixture
def ask(site: Monitored) -> Iterator[Asking]:
    """The administrator; the work is taken away afterwards."""
    asking = Asking(site.quotree, site.cluster.kubeconfig)
    yield asking
    asking.clear()


def _expressions(dashboard: dict[str, Any]) -> list[tuple[str, str]]:
    given = {"$__rate_interval": "30s", "$__range": "10m", "$group": ".*", "$flavor": ".*", "$resource": ".*"}
    found = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in given.items():
                expression = expression.replace(name, value)
            assert "$" not in expression
            found.append((panel["title"], expression))
    return found


def test_every_query_of_the_dashboard_has_data(site: Monitored, ask: Asking, chart: list[dict[str, Any]]) -> None:
    site.until("all targets are up", lambda: sum(each.startswith("up") for each in site.targets().values()) == 3)
    queries = _expressions(dashboard_in(chart))
    assert len(queries) > 30
    without: dict[str, str] = dict(queries)
    borrowers = [f"borrower-{number}" for number in range(4)]
    refused = job("refused", "nobody", 1)

    def has_numbers(expression: str) -> bool:
        return any(each["value"][1] != "NaN" for each in site.query(expression))

    def go_on() -> None:
        """One turn: language borrows, vision takes its own back, and a Job is refused."""
        for name in borrowers:
            ask.apply(job(name, "language", 2))
        ask.until("language borrows", lambda: not any(map(ask.is_held, borrowers)))
        ask.apply(job("taker", "vision", 4), refused)
        for title in [each for each in without if has_numbers(without[each])]:
            del without[title]
        ask.until("vision starts", lambda: not ask.is_held("taker"))
        for title in [each for each in without if has_numbers(without[each])]:
            del without[title]
        site.cluster.kubectl("delete", "job", "taker")

    site.until("all panels have data", lambda: not without, go_on)


def test_no_alert_fires_in_a_healthy_cluster(site: Monitored) -> None:
    site.until("the rules are evaluated", lambda: site.query("ALERTS") or site.query("quotree_leader"))
    for alert in ("QuotreeHasNoLeader", "QuotreeWebhookIsAbsent", "QuotreeReviewsDoNotArrive", "QuotreeTreeIsInactive"):
        site.until_resolved(alert)


def test_alert_on_a_waiting_entitled_workload(site: Monitored, ask: Asking) -> None:
    stays = {"reclaim": {"exemptAfterStart": "1h"}, "quotas": [{"min": {"cpu": 4}}]}
    assert ask.edit_tree(group("language", "research", **stays)).returncode == 0
    ask.submit("stays", "language", 8)
    ask.until("it borrows", lambda: not ask.is_held("stays"))
    ask.submit("entitled", "vision", 4)
    (labels,) = site.until_firing("QuotreeEntitledWorkloadWaits")
    assert labels["group"] == "vision"
    site.cluster.kubectl("delete", "job", "stays")
    site.until_resolved("QuotreeEntitledWorkloadWaits")
    assert not ask.is_held("entitled")
    assert ask.edit_tree(group("language", "research", quotas=[{"min": {"cpu": 4}}])).returncode == 0


def test_alert_on_flapping_workloads(site: Monitored, ask: Asking) -> None:
    borrowers = [f"borrower-{number}" for number in range(4)]
    for name in borrowers:
        ask.submit(name, "language", 2)

    def take_and_leave() -> None:
        ask.until("language borrows", lambda: not any(map(ask.is_held, borrowers)))
        ask.submit("taker", "vision", 4)
        ask.until("vision starts", lambda: not ask.is_held("taker"))
        site.cluster.kubectl("delete", "job", "taker")

    (labels,) = site.until_firing("QuotreeWorkloadsFlap", take_and_leave)
    assert labels["group"] == "language"
    site.until_resolved("QuotreeWorkloadsFlap")


def test_alert_on_inactive_groups(site: Monitored, ask: Asking) -> None:
    assert ask.edit_tree(group("orphan", "absent", quotas=[{"min": {"cpu": 0}}])).returncode == 0
    (labels,) = site.until_firing("QuotreeTreeIsInactive")
    assert labels["group"] == "orphan"
    assert ask.edit_tree(group("absent", isParent=True, quotas=[{"min": {"cpu": 0}}])).returncode == 0
    site.until_resolved("QuotreeTreeIsInactive")
    site.cluster.kubectl("delete", "quotagroup", "orphan")
    site.cluster.kubectl("delete", "quotagroup", "absent")


def test_alert_on_an_object_that_is_set_aside(site: Monitored, ask: Asking) -> None:
    """The leader fails on one Job: the alert says where, the others start, and it ends with the Job."""
    steps = [step.rpartition(":")[2] for _, step in NUMBERED]
    name = name_of(steps.index("assignments_of"))
    (reconciler,) = site.quotree.reconcilers
    sound = reconciler.command
    _restart_as(reconciler, tuple("tests.reconciler.poisoned" if word == "reconciler" else word for word in sound))
    ask.submit(name, "vision", 1)
    (labels,) = site.until_firing("QuotreeSetsAside")
    assert labels["kind"] == "Job"
    assert labels["place"].startswith("shared/quota/decide/")
    ask.submit("another", "vision", 1)
    ask.until("another one starts", lambda: not ask.is_held("another"))
    assert ask.is_held(name)
    ask.clear()
    site.until_resolved("QuotreeSetsAside")
    _restart_as(reconciler, sound)


def _restart_as(process: Process, command: tuple[str, ...]) -> None:
    process.stop()
    process.command = command
    process.start()


def test_alert_on_refused_writes(site: Monitored, ask: Asking) -> None:
    name = "quotree-reconciler"
    role = site.cluster.get("clusterrole", name)
    rules = [
        {**each, "verbs": [verb for verb in each["verbs"] if verb != "patch"]} if "jobs" in each["resources"] else each
        for each in role["rules"]
    ]
    numbers = iter(range(1000))
    _patch_role(site, name, rules)
    site.until_firing("QuotreeWritesFail", lambda: ask.submit(f"refused-{next(numbers)}", "vision", 1))
    _patch_role(site, name, role["rules"])
    site.until_resolved("QuotreeWritesFail")


def _patch_role(site: Monitored, name: str, rules: list[dict[str, Any]]) -> None:
    text = yaml.safe_dump({"rules": rules})
    site.cluster.kubectl("patch", "clusterrole", name, "--type=merge", "-p", text)


def test_alert_on_an_expiring_certificate(site: Monitored) -> None:
    (webhook,) = site.quotree.webhooks
    config = Path(webhook.command[-1])
    content = yaml.safe_load(config.read_text())
    short = {**content, "certificates": {**content["certificates"], "leafLife": "3h", "authorityLife": "24h"}}
    _restart_with(site, short)
    site.until_firing("QuotreeCertificateExpires")
    _restart_with(site, content)
    site.until_resolved("QuotreeCertificateExpires")


def _restart_with(site: Monitored, content: dict[str, Any]) -> None:
    """Restart the webhook with these settings and without the certificate that it had."""
    (webhook,) = site.quotree.webhooks
    webhook.stop()
    Path(webhook.command[-1]).write_text(yaml.safe_dump(content))
    site.cluster.kubectl("delete", "secret", "quotree-webhook-tls", "-n", NAMESPACE)
    webhook.start()


def test_alert_on_a_missing_leader(site: Monitored) -> None:
    (reconciler,) = site.quotree.reconcilers
    reconciler.stop()
    site.until_firing("QuotreeHasNoLeader")
    reconciler.start()
    site.until_resolved("QuotreeHasNoLeader")


def test_alert_on_a_missing_webhook(site: Monitored, ask: Asking) -> None:
    (webhook,) = site.quotree.webhooks
    webhook.stop()
    site.until_firing("QuotreeWebhookIsAbsent")
    answers = []
    site.until_firing(
        "QuotreeReviewsDoNotArrive", lambda: answers.append(ask.apply(job("lost", "vision", 1)).returncode)
    )
    assert all(answers)
    webhook.start()
    site.until_resolved("QuotreeWebhookIsAbsent")
    site.until_resolved("QuotreeReviewsDoNotArrive")


def test_alert_on_reviews_that_cannot_be_judged(site: Monitored, ask: Asking) -> None:
    """Something else writes into the coordination object; the refusal says what to do about it."""
    where = ("configmap", "quotree-edits", "-n", NAMESPACE)
    site.cluster.kubectl("patch", *where, "--type=merge", "-p", '{"data": {"reservations": "not ours"}}')
    edit = group("language", "research", quotas=[{"min": {"cpu": 3}}])
    refusals: list[str] = []
    site.until_firing("QuotreeReviewsFail", lambda: refusals.append(ask.edit_tree(edit).stderr))
    assert any("ConfigMap quotree-edits is not as Quotree wrote it" in each for each in refusals)
    site.cluster.kubectl("delete", *where)
    site.until("the tree can be edited again", lambda: ask.edit_tree(edit).returncode == 0)
    site.until_resolved("QuotreeReviewsFail")


@pytest.mark.timeout(600)
def test_alert_on_a_silent_api_server(site: Monitored) -> None:
    """The last test: a leader that cannot reach the API server ends."""
    server = site.cluster.processes["kube-apiserver"]
    server.freeze()
    try:
        site.until_firing("QuotreeWatchIsSilent")
    finally:
        server.thaw()
    site.until_resolved("QuotreeWatchIsSilent")
