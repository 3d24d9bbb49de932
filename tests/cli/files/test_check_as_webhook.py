"""What `quotree check` finds in a file is what the admission webhook says of the same object, rule by rule.

The tables are those of the rules' own tests: through the webhook's functions here, through a real API server there.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from click.testing import CliRunner

from cli.commands.offline import check
from shared.api.names import API_VERSION
from shared.quota.model import rules
from shared.quota.model.read.groups import read_flavor_manifest, read_group_manifest
from shared.quota.model.rules import Context, Violation
from shared.quota.model.tree import Tree
from tests.shared.quota.model.rules.own_cases import FLAVOR_CASES, GROUP_CASES, Case
from tests.webhook.live.test_workload_rules_live import CASES, PATHS, WARNED, Labels, body_of
from tests.webhook.live.test_workload_rules_live import Case as WorkloadCase
from webhook.quota.edits import GroupEdit
from webhook.quota.quotagroups import judge_alone

Manifest = dict[str, Any]
TEAM = "team"


def manifest(kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}


def found_in(folder: Path, *objects: Manifest) -> dict[str, list[dict[str, Any]]]:
    """What `quotree check -o json` prints of a file with these objects."""
    file = folder / "objects.yaml"
    file.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
    answer = CliRunner().invoke(check.command, [str(file), "-o", "json"])
    found = json.loads(answer.stdout)
    assert answer.exit_code == (1 if found["violations"] else 0)
    assert {each["file"] for each in found["violations"]} <= {str(file)}
    return cast("dict[str, list[dict[str, Any]]]", found)


def violations_in(folder: Path, *objects: Manifest) -> set[Violation]:
    found = found_in(folder, *objects)["violations"]
    return {Violation(each["rule"], each["object"], each["field"], each["message"]) for each in found}


def refused_name(case: Case) -> str:
    return case.refused_name or case.name


@pytest.mark.parametrize("case", GROUP_CASES.values(), ids=GROUP_CASES)
def test_each_rule_of_a_group_is_found_by_check_as_by_the_webhook(case: Case, tmp_path: Path) -> None:
    name = refused_name(case)
    broken = manifest("QuotaGroup", name, case.refused)
    edit = GroupEdit("1", name, "", "", None, read_group_manifest(broken))
    webhook = judge_alone(edit, Tree.of([]), Context()).violations
    found = violations_in(tmp_path, broken)
    assert Violation(case.code, f"QuotaGroup/{name}", case.field, case.message) in found
    assert {each for each in webhook if each.rule == case.code} <= found


@pytest.mark.parametrize("case", FLAVOR_CASES.values(), ids=FLAVOR_CASES)
def test_each_rule_of_a_flavor_is_found_by_check_as_by_the_webhook(case: Case, tmp_path: Path) -> None:
    broken = manifest("ResourceFlavor", refused_name(case), case.refused)
    webhook = set(rules.check_flavor(read_flavor_manifest(broken)))
    assert case.code in {each.rule for each in webhook}
    assert webhook <= violations_in(tmp_path, broken)


def quotas(**cpus: int) -> list[dict[str, Any]]:
    return [{"flavor": flavor, "min": {"cpu": cpu}, "max": {"cpu": cpu}} for flavor, cpu in cpus.items()]


def group(name: str, parent: str = "root", **spec: Any) -> Manifest:
    return manifest("QuotaGroup", name, {"parent": parent, **spec})


AROUND = (
    *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n, "labels": {TEAM: n}}} for n in ("red", "blue")),
    manifest("ResourceFlavor", "a100", {"nodeLabels": {"gpu": "a100"}}),
    manifest("ResourceFlavor", "t4", {"nodeLabels": {"gpu": "t4"}}),
    group("research", isParent=True, quotas=quotas(a100=20, t4=20)),
    group("vision", "research", quotas=quotas(a100=10)),
    group("nlp", "research", quotas=quotas(a100=10, t4=10)),
    group("closed", isParent=True, stopPolicy="Close", quotas=quotas(a100=5)),
    group("old", "closed", quotas=quotas(a100=5)),
    group("choosy", quotas=quotas(t4=4), namespaceSelector={"matchLabels": {TEAM: "red"}}),
    group("paused", quotas=quotas(t4=4), stopPolicy="Hold"),
)
"""As the live tests of the webhook have it, but for a group whose parent is absent: `check` refuses that group."""


def workload(kind: str, labels: Labels, namespace: str) -> Manifest:
    body = body_of(kind, "w", labels)
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [f"{each['field']}: {each['message']} ({each['rule']})" for each in found]


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_check_says_of_a_workload_what_the_webhook_says(case: WorkloadCase, kind: str, tmp_path: Path) -> None:
    fine = found_in(tmp_path, *AROUND, workload(kind, case.accepted, case.where))
    broken = found_in(tmp_path, *AROUND, workload(kind, case.refused, case.where))
    assert texts(fine["violations"]) == []
    assert texts(broken["violations"]) == [case.text]


@pytest.mark.parametrize("name", [each for each in WARNED if each != "detached"])
def test_check_warns_of_a_workload_as_the_webhook_does(name: str, tmp_path: Path) -> None:
    body, text = WARNED[name]
    found = found_in(tmp_path, *AROUND, {**body, "metadata": {**body["metadata"], "namespace": "red"}})
    about = [each for each in found["warnings"] if each["object"].startswith(body["kind"])]
    assert (found["violations"], texts(about)) == ([], [text])
