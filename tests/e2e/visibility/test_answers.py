"""What the visibility API answers to kubectl, and that every other route says the same."""

import json
import re
from typing import Any

import pytest

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.quotree import Quotree
from tests.e2e.visibility.manifests import READER
from tests.e2e.visibility.steps import (
    API,
    HIDDEN,
    as_team,
    dry_run,
    first_answer,
    job_of,
    rows,
    run_command,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)


def test_tenant_lists_pending_workloads_of_its_namespace(quotree: Quotree) -> None:
    answer = first_answer(lambda: as_team(quotree, "team-a", "get", "pendingworkloads", "-n", "team-a"), "BehindHead")
    assert rows(answer.stdout)[0] == ["NAME", "GROUP", "PLACE", "REASON", "MISSING", "IN", "AGE"]
    assert rows(answer.stdout)[1][:4] == ["own", "vision", "2", "BehindHead"]
    assert len(rows(answer.stdout)) == 2
    by_group = as_team(quotree, "team-a", "get", "pw", "-n", "team-a", "-l", "quotree.dev/group=nlp", "-o", "name")
    assert by_group.stdout == ""


def test_administrator_lists_all_pending_workloads_by_group(quotree: Quotree) -> None:
    words = ("get", "pw", "-A", "-l", "quotree.dev/group=vision", "--no-headers", "-o", "wide")
    expected = [["team-b", "hidden-head", "vision", "1"], ["team-a", "own", "vision", "2"]]
    # A busy API is not served for a moment.
    wait_for(
        lambda: [row[:4] for row in rows(quotree.cluster.kubectl(*words, check=False).stdout)] == expected,
        "both are listed in their order",
    )


@pytest.mark.parametrize(
    ("namespace", "name", "beginning"),
    [
        ("team-b", "hidden-head", "Job 'team-b/hidden-head' waits: group 'root' lacks 3 of default/cpu"),
        ("team-a", "own", "Job 'team-a/own' waits: group 'vision' is StrictFIFO and a workload of group 'vision' is"),
    ],
)
def test_every_route_gives_the_same_reason(quotree: Quotree, namespace: str, name: str, beginning: str) -> None:
    control_plane, key = quotree.cluster, f"{namespace}/{name}"
    messages: list[str] = []
    control_plane.apply(READER)

    def agreed() -> bool:
        """Whether all routes have said the sentence of an event at the same time."""
        events = control_plane.get("events.events.k8s.io", "-n", namespace)["items"]
        notes = {each["note"] for each in events if each["regarding"]["name"] == name and "waits: " in each["note"]}
        messages.clear()
        for user in ((), ("--as", "reader")):
            explained = quotree.command("explain", key, "-o", "json", *user)
            listed = json.loads(quotree.command("pending", "-n", namespace, "-o", "json", *user))["items"]
            messages.append(json.loads(explained)["message"])
            messages.extend(each["message"] for each in listed if each["workload"] == key)
        for kind in ("pendingworkloads", "explanations"):
            words = ("get", kind, name, "-n", namespace, "-o", "jsonpath={.status.message}")
            messages.append(control_plane.kubectl(*words, check=False).stdout)
        return len(messages) == 6 and len({*messages}) == 1 and messages[0] in notes

    wait_for(agreed, "the same sentence everywhere")
    assert messages[0].startswith(beginning)
    with pytest.raises(ControlPlaneError, match="Forbidden"):
        control_plane.kubectl("get", "explanations", name, "-n", namespace, "--as", "reader")


def test_a_tenant_gets_its_explanation_with_sums_and_remedies(quotree: Quotree) -> None:
    words = ("get", "explanations", "own", "-n", "team-a", "-o", "json")
    answer = first_answer(lambda: as_team(quotree, "team-a", *words), "AddCapacity", '"Leader"')
    status = json.loads(answer.stdout)["status"]
    (flavor,) = status["flavors"]
    assert {name: flavor["holders"][0][name] for name in ("group", "workloads", "amount")} == {
        "group": "nlp",
        "workloads": 1,
        "amount": 4000,
    }
    assert (status["state"], status["servedBy"]) == ("Pending", "Leader")
    assert "AddCapacity" in {each["do"] for each in status["remedies"]}


def test_forecast_is_in_every_answer(quotree: Quotree) -> None:
    control_plane = quotree.cluster
    for name in ("foreseen-1", "foreseen-2"):
        job = job_of("team-a", "owed", name, "40Gi")
        job["metadata"]["annotations"] = {"quotree.dev/expected-run-time": "1h"}
        control_plane.apply(json.dumps(job))
    explained = first_answer(lambda: run_command(quotree, "explain", "team-a/foreseen-2"), "starts between")
    assert "assumes declared run times" in explained.stdout

    def starts(table: str) -> str:
        """Return the interval in the row of the Job that waits; empty while there is none."""
        row = next((each for each in table.splitlines() if "foreseen-2" in each), "")
        return next((each for each in re.split("  +", row) if each.startswith("between ")), "")

    def agree() -> bool:
        named = ("get", "pw", "-n", "team-a", "-o", "wide")
        served = starts(control_plane.kubectl(*named, check=False).stdout)
        return served != "" and served == starts(run_command(quotree, "pending", "owed", "-o", "wide").stdout)

    wait_for(agree, "the API's list and the command line say when it starts")
    control_plane.kubectl("delete", "job", "foreseen-1", "foreseen-2", "-n", "team-a")
    # Lists are made from a copy of the reconciler, which is some seconds old.
    wait_for(lambda: "foreseen-2" not in control_plane.kubectl("get", "pw", "-A").stdout, "it is forgotten")


def test_dry_run_lists_what_an_edit_starts_and_stops(quotree: Quotree) -> None:
    message = "would stop 1 workload of group vision (3 cpu): GroupStopped"
    answer = first_answer(lambda: dry_run(quotree), message)
    assert "runtime of group vision: " in answer.stderr
    assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []
    assert quotree.cluster.get("quotagroup", "vision")["spec"].get("stopPolicy", "None") == "None"
    refused = as_team(quotree, "team-a", "create", "--raw", f"{API}/whatifs", "-f", "/dev/null")
    assert "Forbidden" in refused.stderr


def test_kubectl_explains_the_kinds_and_watches_them(quotree: Quotree) -> None:
    def explained() -> str:
        return quotree.cluster.kubectl("explain", "pw.status.group", check=False).stdout

    # The API server reads the schemas of an aggregated API once a minute.
    wait_for(lambda: "The leaf group whose quota it waits for." in explained(), "its schema is read")
    words = ("get", "--raw", f"{API}/namespaces/team-a/pendingworkloads?watch=true&timeoutSeconds=3")
    watched = first_answer(lambda: quotree.cluster.kubectl(*words, check=False), "own").stdout
    event: dict[str, Any] = json.loads(watched.splitlines()[0])
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "own")
