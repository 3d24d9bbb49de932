"""`quotree explain` prints the documented members, from files and from the live cluster."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.commands import explain, pending
from dev.controlplane.cluster import ControlPlane
from shared.problems import Problem
from shared.text.explanation import lines
from tests.cli.live.live_kinds import install_kinds

WAITING = str(Path(__file__).parent / "questions" / "waiting.yaml")
EIGHT = ["--capacity", "default:nvidia.com/gpu=8"]
GPU = {"flavor": "default", "resource": "nvidia.com/gpu"}


def _answer(*words: str) -> dict[str, Any]:
    answer = CliRunner().invoke(explain.command, [*words, "-f", WAITING, *EIGHT, "-o", "json"])
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "begin", "meant"),
    [
        ("qg/vison", "there is no QuotaGroup 'vison'", "vision"),
        ("ns/tran-2", "there is no workload 'ns/tran-2' that names a group and has not ended", "ns/train-2"),
    ],
)
def test_unknown_name_is_answered_with_those_that_exist(name: str, begin: str, meant: str) -> None:
    answer = CliRunner().invoke(explain.command, [name, "-f", WAITING, *EIGHT])
    assert isinstance(answer.exception, Problem)
    assert str(answer.exception).partition("; there are ")[0] == f"{begin}; did you mean {meant!r}?"


def test_waiting_workload_has_a_complete_explanation() -> None:
    assert _answer("ns/train-2") == {
        "workload": "ns/train-2",
        "kind": "Job",
        "state": "Pending",
        "group": "vision",
        "position": 1,
        "entitled": False,
        "reason": "WaitingForQuota",
        "message": "Job 'ns/train-2' waits: group 'root' lacks 3 of default/nvidia.com/gpu (request 3, free 0); "
        "runs when used falls to 5",
        "flavors": [
            {
                "flavor": "default",
                "eligible": True,
                "entitled": False,
                "binding": {"group": "root", "resource": "nvidia.com/gpu", "limit": "capacity", "missing": 3},
                "entitlement": {
                    "group": "vision",
                    "resource": "nvidia.com/gpu",
                    "limit": "runtime",
                    "missing": 1,
                    "used": 2,
                    "runtime": 4,
                    "min": 4,
                },
                "holders": [
                    {
                        "workload": "ns/base",
                        "group": "nlp",
                        "amount": 6,
                        "borrowed": 2,
                        "recyclable": False,
                        "because": "NotEntitled",
                    },
                    {
                        "workload": "ns/train-1",
                        "group": "vision",
                        "amount": 2,
                        "borrowed": 0,
                        "recyclable": False,
                        "because": "NotLowerPriority",
                    },
                ],
            }
        ],
        "remedies": [
            {"do": "RaiseMin", "group": "vision", **GPU, "by": 3},
            {"do": "AddCapacity", **GPU, "by": 1},
            {"do": "WaitFor", "group": "nlp", "workload": "ns/base"},
            {"do": "WaitFor", "group": "vision", "workload": "ns/train-1"},
            {"do": "Evict", "group": "nlp", "workload": "ns/base"},
            {"do": "Evict", "group": "vision", "workload": "ns/train-1"},
            {"do": "ShrinkRequest", "resource": "nvidia.com/gpu", "by": 1, "workload": "ns/train-2"},
            {"do": "RaisePriority", "priority": 1, "workload": "ns/train-2"},
        ],
        "startsAt": None,
        "forecast": {"unknown": "RunTimesUnknown", "endless": 2, "runs": "0/9"},
    }


FORECAST = str(Path(__file__).parent / "questions" / "forecast.yaml")
HALF_PAST_MIDNIGHT = ["-f", FORECAST, *EIGHT, "--at", "2026-01-01T00:30:00Z"]


def test_waiting_workload_has_the_time_between_which_it_will_start() -> None:
    found = CliRunner().invoke(explain.command, ["ns/train-2", *HALF_PAST_MIDNIGHT]).stdout.splitlines()
    # What runs takes 36, 48, 54 or 60 minutes in all; ends within a few minutes count together.
    starts = next(line for line in found if line.startswith("starts "))
    pattern = (
        r"starts between 2026-01-01 00:3[67] and 01:0[0-3] UTC \(80 %\); assumes declared run times; 0 workloads of.*"
    )
    assert re.fullmatch(pattern, starts), starts


def test_list_of_what_waits_has_starts_where_they_are_asked_for() -> None:
    wide, plain = (
        CliRunner().invoke(pending.command, [*HALF_PAST_MIDNIGHT, *words]).stdout for words in (["-o", "wide"], [])
    )
    assert ("between 2026-01-01 00:3" in wide, "STARTS" in plain) == (True, False)
    rows = json.loads(CliRunner().invoke(pending.command, [*HALF_PAST_MIDNIGHT, "-o", "json"]).stdout)["items"]
    assert rows[0]["forecast"]["assumes"] == ["DeclaredRunTimes"]


def test_running_workload_has_its_start_time() -> None:
    found = _answer("base", "-n", "ns")
    assert (found["state"], found["position"], found["remedies"]) == ("Running", 0, [])
    assert found["message"] == "Job 'ns/base' runs since 2026-01-01T00:00:00+00:00 on default"


def test_running_workload_has_its_entitlement_and_risks() -> None:
    found = _answer("ns/base")["admission"]
    assert (found["since"], found["ground"], found["flavors"]) == (
        "2026-01-01T00:00:00+00:00",
        "Borrowed",
        {"nvidia.com/gpu": "default"},
    )
    assert found["keys"] == [{**GPU, "amount": 6, "borrowed": 2, "groupUsed": 6, "groupRuntime": 4}]
    assert {each["rule"]: each["possible"] for each in found["losses"]} == {"Reclaim": True, "Preemption": True}
    text = CliRunner().invoke(explain.command, ["ns/base", "-f", WAITING, *EIGHT]).stdout.splitlines()
    assert "it runs on borrowed quota" in text
    assert "  eviction for other groups: possible now" in text


def test_evicted_workload_has_preemptor_rule_and_requeue_time(tmp_path: Path) -> None:
    eviction = {
        "reason": "Reclaimed",
        "rule": "Reclaim",
        "time": "2026-01-02T00:00:00Z",
        "for": {"workload": "ns/other"},
        "times": 3,
    }
    requeue = {"queued": "2026-01-02T00:00:00Z", "notBefore": "2026-01-02T00:01:00Z", "failedStarts": 2}
    annotations = {"quotree.dev/eviction": json.dumps(eviction), "quotree.dev/requeue": json.dumps(requeue)}
    metadata = {
        "name": "gone",
        "namespace": "ns",
        "labels": {"quotree.dev/group": "vision"},
        "annotations": annotations,
    }
    container = {"name": "a", "resources": {"requests": {"nvidia.com/gpu": 1}}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "template": {"spec": {"containers": [container]}}},
    }
    file = tmp_path / "gone.json"
    file.write_text(json.dumps(job))
    words = ["ns/gone", "-f", WAITING, "-f", str(file), *EIGHT, "--at", "2026-01-02T00:00:30Z"]
    whole = json.loads(CliRunner().invoke(explain.command, [*words, "-o", "json"]).stdout)
    found = whole["lastEviction"]
    assert whole["evictions"] == 3
    assert found == {
        "reason": "Reclaimed",
        "at": "2026-01-02T00:00:00+00:00",
        "rule": "Reclaim",
        "for": "ns/other",
        "forGroup": None,
        "failedStarts": 2,
        "notBefore": "2026-01-02T00:01:00+00:00",
        "deactivated": False,
    }
    printed = CliRunner().invoke(explain.command, words).stdout
    assert "evicted 3 times so far" in printed.splitlines()
    assert "Reclaimed (Reclaim) for ns/other; 2 starts failed; starts again at 2026-01-02T00:01:00Z" in printed


@pytest.mark.parametrize("name", ["vision", "qg/vision"])
def test_group_has_the_division_of_its_runtime(name: str) -> None:
    (table,) = _answer(name)["division"]
    assert (table["parent"], table["runtime"], table["sharedBy"], table["left"]) == ("root", 8, "weight", 0)
    rows = {
        each["group"]: (each["floor"], each["first"], each["rounds"], each["runtime"]) for each in table["children"]
    }
    assert {group: row[3] for group, row in rows.items() if row[3]} == {"nlp": 4, "vision": 4}
    text = CliRunner().invoke(explain.command, [name, "-f", WAITING, *EIGHT]).stdout.splitlines()
    assert text[0] == "default/nvidia.com/gpu: root has 8, shared by weight, after the floors"
    assert any(line.startswith("> vision") for line in text)
    assert text[-1] == "  left: 0"


def test_text_output_has_the_same_facts() -> None:
    answer = CliRunner().invoke(explain.command, ["ns/train-2", "-f", WAITING, *EIGHT])
    printed = answer.stdout.splitlines()
    assert "  not entitled: the runtime of vision lacks 1 of nvidia.com/gpu: it is 4, 2 is used, min is 4" in printed
    assert "  ns/base of nlp holds 6, 2 of it borrowed: stays, the workload that waits is not entitled" in printed
    assert "  1 more of default/nvidia.com/gpu in the cluster" in printed


def test_holder_that_is_being_evicted_is_shown_with_its_preemptor() -> None:
    found = _answer("ns/train-2")
    found["flavors"][0]["holders"][0] |= {"because": "Evicting", "claimedBy": "ns/other"}
    assert "  ns/base of nlp holds 6, 2 of it borrowed: stays, is being evicted for ns/other" in lines(found)


def test_template_selects_members_of_the_explanation() -> None:
    words = ["ns/train-2", "-f", WAITING, *EIGHT, "-o"]
    template = "jsonpath={.flavors[0].binding.group}: {.flavors[0].binding.missing}"
    assert CliRunner().invoke(explain.command, [*words, template]).stdout == "root: 3\n"
    refused = CliRunner().invoke(explain.command, [*words, "xml"])
    assert (refused.exit_code, "text|json|yaml|jsonpath=TEMPLATE" in refused.output) == (2, True)


@pytest.mark.parametrize("name", ["ns/absent", "absent", "Pod/ns/train-2"])
def test_missing_workload_is_an_error(name: str) -> None:
    answer = CliRunner().invoke(explain.command, [name, "-f", WAITING])
    assert "names a group" in str(answer.exception)


def test_live_explanation_uses_the_rights_of_the_user(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    control_plane.kubectl("create", "namespace", "explained")
    control_plane.apply(
        """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: explained}
spec: {quotas: [{min: {cpu: 1}, max: {cpu: 1}}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: large, namespace: explained, labels: {quotree.dev/group: explained}}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, resources: {requests: {cpu: 3}}}]}}
"""
    )
    environment = {"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"}
    words = ["explained/large", "--kubeconfig", str(control_plane.kubeconfig), "-o", "json"]
    answer = CliRunner(env=environment).invoke(explain.command, words)
    found = json.loads(answer.stdout)
    assert (found["reason"], found["flavors"][0]["binding"]["limit"]) == ("NeverFits", "ceiling")
    assert {"do": "RaiseMax", "group": "explained", "flavor": "default", "resource": "cpu", "by": 2000} in found[
        "remedies"
    ]
