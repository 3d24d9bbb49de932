"""promtool takes the rules, and each alert fires after its time in full, on series as the processes export them."""

import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.prometheus import Programs
from tests.monitoring.conftest import rendered, rules_in, write_rules

ALERTS_PAGE: Final = Path(__file__).parents[2] / "docs" / "alerts.md"

REJECTIONS: Final = "apiserver_admission_webhook_rejection_count"


class Course(NamedTuple):
    """Series of one value a minute; whether the alert fires at the start of these minutes."""

    series: dict[str, str]
    silent: tuple[int, ...]
    firing: tuple[int, ...]
    labels: dict[str, str]


BUDGET: Final = 'group="a", resource="cpu", period="Month", when_spent="NoStart"'
COURSES: Final = {
    "QuotreeHasNoLeader": Course({'quotree_leader{pod="a"}': "1x10 0x10 1x10"}, (5, 11, 12, 25), (14, 20), {}),
    "QuotreeWebhookIsAbsent": Course({"quotree_webhook_connections": "2x10 _x10 2x10"}, (5, 25), (19, 20), {}),
    "QuotreeReviewsDoNotArrive": Course(
        {
            f'{REJECTIONS}{{name="job.labelled.quotree.dev", error_type="calling_webhook_error"}}': "0x10 0+3x15 45x30",
            f'{REJECTIONS}{{name="quotagroups.quotree.dev", error_type="no_error"}}': "0+9x60",
        },
        (5, 12, 45),
        (20, 25),
        {},
    ),
    "QuotreeReviewsFail": Course(
        {
            'quotree_webhook_reviews_total{verdict="error", route="/jobs"}': "0x10 0+1x15 15x75",
            'quotree_webhook_refusals_total{rule="NotReady", route="/jobs"}': "0x50 0+1x15 15x35",
            'quotree_webhook_refusals_total{rule="SumOfMinExceedsParent", route="/quotagroups"}': "0+9x100",
        },
        (5, 12, 45, 52, 85),
        (20, 25, 60, 65),
        {},
    ),
    "QuotreeWebhookIsOverloaded": Course(
        {
            'quotree_webhook_refusals_total{rule="TooManyReviews", route="/jobs"}': "0x10 0+9x15 135x30",
            'quotree_webhook_refusals_total{rule="NeverFits", route="/jobs"}': "0+9x60",
        },
        (5, 12, 45),
        (20, 25),
        {},
    ),
    "QuotreeCertificateExpires": Course(
        {"quotree_webhook_certificate_expiry_timestamp_seconds": "604800x40 9604800x20"}, (5, 50), (20, 39), {}
    ),
    "QuotreeEntitledWorkloadWaits": Course(
        {'quotree_group_entitled_waiting_seconds{group="a", path="root/a", pod="x"}': "0+60x25 _x10"},
        (10, 15, 32),
        (18, 24),
        {"group": "a"},
    ),
    "QuotreeTreeIsInactive": Course(
        {'quotree_group_inactive{group="a", reason="ParentAbsent", pod="x"}': "_x5 1x10 _x20"},
        (5, 9, 30),
        (12, 15),
        {"group": "a", "reason": "ParentAbsent"},
    ),
    "QuotreeSetsAside": Course(
        {'quotree_set_aside{kind="Job", group="a", place="shared/x.py:1 f", pod="x"}': "0x5 1x10 0x20"},
        (4, 30),
        (7, 14),
        {"kind": "Job", "place": "shared/x.py:1 f"},
    ),
    "QuotreeWorkloadsFlap": Course(
        {'quotree_evicted_run_seconds_bucket{group="a", le="300.0", pod="x"}': "0x5 0+1x20 20x60"},
        (5, 10, 75),
        (20, 30),
        {"group": "a"},
    ),
    "QuotreeWritesFail": Course(
        {'quotree_writes_total{what="admission", fate="refused"}': "0x5 0+30x30 900x40"},
        (5, 15, 60),
        (30,),
        {"what": "admission"},
    ),
    "QuotreeWatchIsSilent": Course(
        {'quotree_watch_quiet_seconds{job="q", instance="x", resource="jobs"}': "0+60x8 0x10"},
        (3, 10),
        (6, 8),
        {"job": "q", "instance": "x", "resource": "jobs"},
    ),
    "QuotreeAccountsAreNotWritten": Course(
        {'quotree_accounts_unwritten_seconds{job="q", instance="x"}': "0+60x80 0x10"},
        (5, 60, 64, 85),
        (67, 78),
        {"job": "q", "instance": "x"},
    ),
    "QuotreeBudgetNearlySpent": Course(
        {
            f"quotree_group_budget_used_hours{{{BUDGET}}}": "70+1x20 5x20",
            f"quotree_group_budget_hours{{{BUDGET}}}": "100x41",
        },
        (5, 12, 30),
        (17, 20),
        {"group": "a", "resource": "cpu", "period": "Month", "when_spent": "NoStart"},
    ),
}


@pytest.fixture(scope="module")
def rules(control_plane_binaries: Binaries) -> dict[str, Any]:
    return rules_in(rendered(control_plane_binaries, "prometheusRule.runbookUrl=https://docs.example.com/alerts.html"))


def test_promtool_accepts_the_rules(programs: Programs, rules: dict[str, Any], tmp_path: Path) -> None:
    file = write_rules(tmp_path, rules)
    done = subprocess.run([programs.promtool, "check", "rules", file], capture_output=True, text=True, check=False)
    assert (done.returncode, f"{len(COURSES)} rules found" in done.stdout) == (0, True), done.stdout + done.stderr


def test_each_alert_links_to_a_section_of_the_docs(rules: dict[str, Any]) -> None:
    alerts = [each for group in rules["groups"] for each in group["rules"]]
    assert {each["alert"] for each in alerts} == COURSES.keys()
    headings = [line[3:] for line in ALERTS_PAGE.read_text().splitlines() if line.startswith("## Quotree")]
    assert headings == [each["alert"] for each in alerts]
    for each in alerts:
        anchor = each["alert"].lower()
        assert each["annotations"]["runbook"] == f"docs/alerts.md#{anchor}"
        assert each["annotations"]["runbook_url"] == f"https://docs.example.com/alerts.html#{anchor}"


@pytest.mark.parametrize("alert", COURSES)
def test_an_alert_fires_after_its_time_and_resolves(
    programs: Programs, rules: dict[str, Any], tmp_path: Path, alert: str
) -> None:
    course = COURSES[alert]
    (rule,) = [each for group in rules["groups"] for each in group["rules"] if each["alert"] == alert]
    write_rules(tmp_path, {"groups": [{"name": "one", "rules": [{**rule, "annotations": {}}]}]})
    labels = {**course.labels, **rule["labels"]}
    checks = [
        {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": expected}
        for minutes, expected in ((course.silent, []), (course.firing, [{"exp_labels": labels}]))
        for minute in minutes
    ]
    series = [{"series": name, "values": values} for name, values in course.series.items()]
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": checks}],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    command = [str(programs.promtool), "test", "rules", "test.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
