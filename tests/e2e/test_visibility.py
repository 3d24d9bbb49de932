"""The visibility API on a real API server: two tenants with kubectl, and what its absence must not break."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from dashboard.live.watched_cluster import WatchedCluster
from dev.controlplane import cluster
from dev.controlplane.binaries import Binaries
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.quotree import Quotree, installed
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.quota.measure.inputs.world import PastUse
from shared.quota.model.settings import QuotaSettings
from shared.resources import FlavorResource

API = "/apis/visibility.quotree.dev/v1alpha1"
SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.visibility.quotree.dev"
HIDDEN = ("hidden-1", "hidden-2", "hidden-head", "hidden-owner")
TREE = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 4}}], queueing: {strategy: StrictFIFO}}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: nlp}
spec: {quotas: [{min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: lent}
spec: {quotas: [{min: {memory: 0}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: owed}
spec: {quotas: [{min: {memory: 40Gi}}]}
"""
EDITOR = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tree-editor}
rules:
- {apiGroups: [quotree.dev], resources: [quotagroups], verbs: [get, create, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tree-editor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tree-editor}
subjects: [{kind: User, name: team-a, apiGroup: rbac.authorization.k8s.io}]
"""
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    """One node of 8 cpu; team-a's jobs wait behind team-b's, in its own group and in another one."""
    nodes = [NodeSpec("node-0", allocatable={"cpu": "8", "memory": "64Gi"})]
    with (
        cluster.start(control_plane_binaries, nodes=nodes) as started,
        installed(started, visibility=True) as running,
    ):
        for team in ("team-a", "team-b"):
            started.kubectl("create", "namespace", team)
            started.kubectl(
                "create", "rolebinding", "view", "--clusterrole=view", f"--user={team}", f"--namespace={team}"
            )
        started.kubectl("apply", "--server-side", "-f", "-", input=TREE)
        started.apply(EDITOR)
        submit(started, "team-b", "nlp", "hidden-1", 4)
        submit(started, "team-b", "vision", "hidden-2", 3)
        wait_for(lambda: not any(suspended(started, each) for each in HIDDEN[:2]), "team-b runs")
        submit(started, "team-b", "vision", "hidden-head", 4)
        time.sleep(1.1)  # Ages are in whole seconds.
        submit(started, "team-a", "vision", "own", 2)
        wait_for(lambda: available(started) == "True", "the API is served")
        wait_for(lambda: listed(running) == ["hidden-head", "own"], "both are known to wait")
        yield running


def submit(control_plane: ControlPlane, namespace: str, group: str, name: str, request: int | str) -> None:
    """A Job that requests that much cpu or memory."""
    requests = {"cpu": request} if isinstance(request, int) else {"memory": request}
    container = {"name": "a", "image": "a", "resources": {"requests": requests}}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"quotree.dev/group": group}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    control_plane.apply(yaml.safe_dump(body))


def suspended(control_plane: ControlPlane, job: str, namespace: str = "team-b") -> bool:
    status, found = control_plane.rest.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs/{job}")
    assert status == 200, found
    return bool(found["spec"]["suspend"])


def available(control_plane: ControlPlane) -> str:
    status, body = control_plane.rest.request("GET", SERVICE)
    if status != 200:
        return ""
    service = body.get("spec", {}).get("service")
    conditions = body.get("status", {}).get("conditions", [])
    return next((str(each["status"]) for each in conditions if service and each["type"] == "Available"), "")


def listed(quotree: Quotree) -> list[str]:
    """What waits in vision, in its order; also while the API server does not serve the API."""
    words = ("get", "pw", "-A", "-l", "quotree.dev/group=vision", "--no-headers")
    return [row[1] for row in rows(quotree.cluster.kubectl(*words, check=False).stdout)]


def wait_for(happens: Callable[[], bool], what: str | Callable[[], str], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, what if isinstance(what, str) else what()
        time.sleep(0.5)


def asked(ask: Callable[[], CompletedProcess[str]], text: str) -> CompletedProcess[str]:
    """The first answer with that text: a busy reconciler might say less, or nothing, or end a watch too soon."""
    answers: list[CompletedProcess[str]] = []

    def says() -> bool:
        answers.append(ask())
        return answers[-1].returncode == 0 and text in answers[-1].stdout + answers[-1].stderr

    wait_for(says, lambda: f"an answer says {text}: {answers[-1]}")
    return answers[-1]


def as_team(quotree: Quotree, team: str, *words: str) -> CompletedProcess[str]:
    """kubectl as the tenant, with every line of its output."""
    return quotree.cluster.kubectl(*words, as_kubeconfig=tenant(quotree, team), check=False)


_KUBECONFIGS: dict[tuple[str, str], Path] = {}


def tenant(quotree: Quotree, team: str) -> Path:
    key = (quotree.cluster.url, team)
    if key not in _KUBECONFIGS:
        _KUBECONFIGS[key] = quotree.cluster.kubeconfig_for(team)
    return _KUBECONFIGS[key]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_tenant_lists_pending_workloads_of_its_namespace(quotree: Quotree) -> None:
    answer = asked(lambda: as_team(quotree, "team-a", "get", "pendingworkloads", "-n", "team-a"), "BehindHead")
    assert rows(answer.stdout)[0] == ["NAME", "GROUP", "PLACE", "REASON", "MISSING", "IN", "AGE"]
    assert rows(answer.stdout)[1][:4] == ["own", "vision", "2", "BehindHead"]
    assert len(rows(answer.stdout)) == 2
    by_group = as_team(quotree, "team-a", "get", "pw", "-n", "team-a", "-l", "quotree.dev/group=nlp", "-o", "name")
    assert by_group.stdout == ""


def test_administrator_lists_all_pending_workloads_by_group(quotree: Quotree) -> None:
    answer = quotree.cluster.kubectl("get", "pw", "-A", "-l", "quotree.dev/group=vision", "--no-headers", "-o", "wide")
    assert [row[:4] for row in rows(answer.stdout)] == [
        ["team-b", "hidden-head", "vision", "1"],
        ["team-a", "own", "vision", "2"],
    ]


READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads-all-but-this-api}
rules:
- {apiGroups: [quotree.dev], resources: [quotagroups, resourceflavors], verbs: [list]}
- {apiGroups: [""], resources: [nodes, namespaces, limitranges, pods, configmaps], verbs: [list, get]}
- {apiGroups: [scheduling.k8s.io, node.k8s.io], resources: [priorityclasses, runtimeclasses], verbs: [list]}
- {apiGroups: [batch], resources: [jobs], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads-all-but-this-api}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-all-but-this-api}
subjects: [{kind: User, name: reader, apiGroup: rbac.authorization.k8s.io}]
"""
"""With these rights the command line gets nothing from the API, and computes."""


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
            listed = json.loads(quotree.command("pending", "-n", namespace, "-o", "json", *user))
            messages.append(json.loads(explained)["message"])
            messages.extend(each["message"] for each in listed if each["workload"] == key)
        for kind in ("pendingworkloads", "explanations"):
            words = ("get", kind, name, "-n", namespace, "-o", "jsonpath={.status.message}")
            messages.append(control_plane.kubectl(*words, check=False).stdout)
        return len(messages) == 6 and len({*messages}) == 1 and messages[0] in notes

    wait_for(agreed, "the same sentence everywhere", 120)
    assert messages[0].startswith(beginning)
    with pytest.raises(ControlPlaneError, match="Forbidden"):
        control_plane.kubectl("get", "explanations", name, "-n", namespace, "--as", "reader")


OWN: Sequence[tuple[str, ...]] = (
    ("get", "pw", "-n", "team-a", "-o", "yaml"),
    ("get", "pw", "own", "-n", "team-a", "-o", "wide"),
    ("get", "explanations", "-n", "team-a", "-o", "yaml"),
    ("get", "explanations", "own", "-n", "team-a", "-o", "yaml"),
    ("get", "--raw", f"{API}/namespaces/team-a/pendingworkloads?fieldSelector=metadata.namespace%3Dteam-b"),
    ("get", "--raw", f"{API}/namespaces/team-a/pendingworkloads?watch=true&timeoutSeconds=2"),
    ("get", "--raw", f"{API}/namespaces/team-a/explanations?limit=1&continue=0"),
    ("get", "--raw", f"{API}/namespaces/team-a/explanations?watch=true&timeoutSeconds=4"),
)
OTHERS: Sequence[tuple[str, ...]] = (
    ("get", "pw", "-n", "team-b"),
    ("get", "explanations", "hidden-1", "-n", "team-b"),
    ("get", "pw", "-A"),
    ("get", "explanations", "-A"),
    ("get", "groupexplanations", "vision", "-o", "yaml"),
    ("get", "--raw", f"{API}/pendingworkloads?fieldSelector=metadata.namespace%3Dteam-a"),
    ("get", "--raw", f"{API}/namespaces/team-b/explanations?watch=true&timeoutSeconds=2"),
    ("get", "--raw", f"{API}/namespaces/team-b/pendingworkloads?limit=1&continue=1"),
)
OWNER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: everything, namespace: team-a}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: everything, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: everything}
subjects: [{kind: User, name: owner-a, apiGroup: rbac.authorization.k8s.io}]
"""
"""All rights in one namespace: the API server lets paths pass that it takes for odd resources of it."""
WAYS_OUT: Sequence[str] = (
    "namespaces/team-a/../team-b/pendingworkloads",
    "namespaces/team-a/%2E%2E/team-b/pendingworkloads",
    "namespaces/team-a%2F..%2Fteam-b/explanations/hidden-head",
    "namespaces/team-a/pendingworkloads/..%2F..%2Fteam-b%2Fpendingworkloads",
    "namespaces//pendingworkloads",
    "namespaces/team-a/namespaces/team-b/pendingworkloads",
    "watch/namespaces/team-a/pendingworkloads?fieldSelector=metadata.namespace%3Dteam-b",
    "namespaces/team-a/pendingworkloads?namespace=team-b",
    "namespaces/team-a/explanations/hidden-head",
)


@pytest.mark.parametrize("words", OWN, ids=" ".join)
def test_explanation_for_a_tenant_names_no_workload_of_another_tenant(quotree: Quotree, words: tuple[str, ...]) -> None:
    answer = asked(lambda: as_team(quotree, "team-a", *words), "own")
    assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []


def test_evicted_tenant_is_given_the_group_of_the_preemptor(quotree: Quotree) -> None:
    control_plane = quotree.cluster
    submit(control_plane, "team-a", "lent", "borrower", "50Gi")
    wait_for(lambda: not suspended(control_plane, "borrower", "team-a"), "it borrows")
    submit(control_plane, "team-b", "owed", "hidden-owner", "40Gi")
    wait_for(lambda: not suspended(control_plane, "hidden-owner"), "its owner takes it back")
    waits = ("get", "explanations", "borrower", "-n", "team-a", "-o", "json")
    status = json.loads(asked(lambda: as_team(quotree, "team-a", *waits), "lastEviction").stdout)["status"]
    assert (status["evictions"], status["lastEviction"]["forGroup"]) == (1, "owed")
    events = ("get", "events", "-n", "team-a", "-o", "json")
    wait_for(lambda: "a workload of group 'owed'" in as_team(quotree, "team-a", *events).stdout, "an event says it")
    for words in (waits, events, ("get", "jobs,pods,pw,explanations", "-n", "team-a", "-o", "yaml")):
        answer = as_team(quotree, "team-a", *words)
        assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []
    named = json.loads(quotree.command("explain", "team-a/borrower", "-o", "json"))["lastEviction"]
    assert (named["for"], named["forGroup"]) == ("team-b/hidden-owner", "owed")
    (taken,) = json.loads(quotree.command("history", "owed", "-o", "json"))
    assert (taken["workload"], taken["for"], taken["request"]) == (
        "team-a/borrower", "team-b/hidden-owner", {"memory": "50Gi"}
    )  # fmt: skip
    own = quotree.command("history", "-n", "team-a", "--as", "team-a", "--no-headers")
    assert "50Gi memory of default   a workload of owed" in own
    for namespace, job in (("team-a", "borrower"), ("team-b", "hidden-owner")):
        control_plane.kubectl("delete", "job", job, "-n", namespace)
    # Lists are made from a copy of the reconciler, which is some seconds old.
    left = ("get", "pw", "-n", "team-a", "-o", "name")
    wait_for(
        lambda: "borrower" not in asked(lambda: as_team(quotree, "team-a", *left), "own").stdout, "it is forgotten"
    )


def test_all_rights_in_one_namespace_reach_no_other(quotree: Quotree) -> None:
    quotree.cluster.apply(OWNER)
    inside = ("get", "--raw", f"{API}/namespaces/team-a/pendingworkloads")
    wait_for(lambda: "own" in as_team(quotree, "owner-a", *inside).stdout, "the rights are known")
    for way in WAYS_OUT:
        answer = as_team(quotree, "owner-a", "get", "--raw", f"{API}/{way}")
        assert [each for each in HIDDEN if each in answer.stdout] == [], way


BY_NAME = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: by-name, namespace: team-b}
rules:
- apiGroups: [visibility.quotree.dev]
  resources: [explanations]
  resourceNames: [hidden-1, "hidden%2D2"]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: by-name, namespace: team-b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: by-name}
subjects: [{kind: User, name: by-name, apiGroup: rbac.authorization.k8s.io}]
"""
"""Rights to two names, one of which is another workload's name if it is decoded once more."""


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("explanations", "Forbidden"),
        ("explanations/hidden-2", "Forbidden"),
        ("explanations/hidden%252D2", "NotFound"),
        ("explanations?fieldSelector=metadata.name%3Dhidden-2", "Forbidden"),
        ("explanations?fieldSelector=metadata.name%3Dhidden-1%2Cmetadata.name%3Dhidden-2", "BadRequest"),
        ("explanations?fieldSelector=metadata.name%3Dhidden-1&fieldSelector=metadata.name%3Dhidden-2", ""),
    ],
)
def test_right_to_one_name_reaches_no_other(quotree: Quotree, path: str, refusal: str) -> None:
    quotree.cluster.apply(BY_NAME)
    inside = ("get", "--raw", f"{API}/namespaces/team-b/explanations?fieldSelector=metadata.name%3Dhidden-1")
    wait_for(lambda: "hidden-1" in as_team(quotree, "by-name", *inside).stdout, "the rights are known")

    def is_answered() -> bool:
        answer = as_team(quotree, "by-name", "get", "--raw", f"{API}/namespaces/team-b/{path}")
        assert "hidden-2" not in answer.stdout
        return refusal in answer.stderr and bool(refusal) == (answer.returncode != 0)

    wait_for(is_answered, refusal or "an answer")


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_tenant_is_forbidden_to_read_other_namespaces_and_groups(quotree: Quotree, words: tuple[str, ...]) -> None:
    answer = as_team(quotree, "team-a", *words)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "Forbidden" in answer.stderr


def test_a_tenant_gets_its_explanation_with_sums_and_remedies(quotree: Quotree) -> None:
    words = ("get", "explanations", "own", "-n", "team-a", "-o", "json")
    status = json.loads(asked(lambda: as_team(quotree, "team-a", *words), "AddCapacity").stdout)["status"]
    (flavor,) = status["flavors"]
    assert {name: flavor["holders"][0][name] for name in ("group", "workloads", "amount")} == {
        "group": "nlp",
        "workloads": 1,
        "amount": 4000,
    }
    assert (status["state"], status["servedBy"]) == ("Pending", "Leader")
    assert "AddCapacity" in {each["do"] for each in status["remedies"]}


EDIT = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 4}, max: {cpu: 4}}], queueing: {strategy: StrictFIFO}, stopPolicy: HoldAndDrain}
"""


def dry_run(quotree: Quotree) -> CompletedProcess[str]:
    words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
    return quotree.cluster.kubectl(*words, input=EDIT, as_kubeconfig=tenant(quotree, "team-a"), check=False)


def test_dry_run_lists_what_an_edit_starts_and_stops(quotree: Quotree) -> None:
    message = "would stop 1 workload of group vision (3 cpu): GroupStopped"
    answer = asked(lambda: dry_run(quotree), message)
    assert "runtime of group vision: " in answer.stderr
    assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []
    assert quotree.cluster.get("quotagroup", "vision")["spec"].get("stopPolicy", "None") == "None"
    refused = as_team(quotree, "team-a", "create", "--raw", f"{API}/whatifs", "-f", "/dev/null")
    assert "Forbidden" in refused.stderr


def test_cli_reads_the_api_with_the_rights_of_the_user(quotree: Quotree) -> None:
    own = ("--as", "team-a", "-n", "team-a")
    assert rows(quotree.command("pending", *own))[0][:4] == ["GROUP", "PLACE", "WORKLOAD", "REASON"]
    assert quotree.command("pending", *own, "-o", "name") == "team-a/own\n"
    assert quotree.command("pending", "vision", "-o", "jsonpath={.items[*].workload}").split() == [
        "team-b/hidden-head", "team-a/own"
    ]  # fmt: skip
    explained = quotree.command("explain", "own", *own)
    assert "a workload of nlp holds 4" in explained
    assert [each for each in HIDDEN if each in explained] == []
    assert "team-b/hidden-1 of nlp holds 4" in quotree.command("explain", "own", "-n", "team-a")
    assert quotree.command("explain", "vision").splitlines()[0].startswith("default/cpu: root has 8")
    for name in ("nope", "qg/nope"):
        with pytest.raises(ControlPlaneError, match=r"there is no (workload|QuotaGroup) '(default/)?nope'"):
            quotree.command("explain", name)
    assert quotree.command("top", "--resource", "cpu", "-o", "name").split()[0] == "nlp"
    line = ["quotree", "pending", *own, "-w", "-o", "name", f"--kubeconfig={quotree.cluster.kubeconfig}"]
    path = f"{quotree.commands}:{quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": path}) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "team-a/own\n"
        submit(quotree.cluster, "team-a", "vision", "second", 2)
        while (line_read := watching.stdout.readline()) != "team-a/second\n":
            assert line_read == "team-a/own\n"
        quotree.cluster.kubectl("delete", "job", "second", "-n", "team-a")
        while (line_read := watching.stdout.readline()) != "team-a/second\n":
            assert line_read == "team-a/own\n"
        watching.terminate()


def test_cli_uses_the_namespace_of_the_context(quotree: Quotree, tmp_path: Path) -> None:
    mine = tmp_path / "kubeconfig"
    mine.write_bytes(tenant(quotree, "team-a").read_bytes())
    quotree.cluster.kubectl("config", "set-context", "--current", "--namespace=team-a", as_kubeconfig=mine)
    here = ("--kubeconfig", str(mine))

    def says(text: str, *words: str) -> Callable[[], bool]:
        """Whether a command says it; a busy API is not served for a moment."""
        return lambda: text in (answer := spoken(quotree, *words, *here)).stdout + answer.stderr

    wait_for(says("a workload of nlp holds 4", "explain", "own"), "own is explained")
    refused = spoken(quotree, "pending", *here)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("-n NAMESPACE lists what waits in one namespace\n")
    for arguments, names in ((["explain"], ["team-a/own"]), (["hold", "-n", "team-a"], ["own"])):
        completed = spoken(quotree, *arguments, *here, "", program="kubectl_complete-quotree").stdout
        assert completed.splitlines() == [*names, ":4"]
    missing = "quotree: there is no workload 'team-a/nope' that names a group"
    wait_for(says("quotree: there is no job 'nope' in namespace 'team-a'\n", "hold", "nope"), "no such Job")
    wait_for(says(f"{missing}, and no QuotaGroup 'nope'\n", "explain", "nope"), "no such name")
    wait_for(says(f"{missing}\n", "explain", "team-a/nope"), "no such workload")


def spoken(quotree: Quotree, *words: str, program: str = "quotree") -> CompletedProcess[str]:
    """All that a program of the command line says."""
    path = f"{quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(quotree.cluster.kubeconfig)}
    line = [str(quotree.commands / program), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("words", [("what-if",), ("pending",), ("explain", "team-a/own")], ids=" ".join)
def test_cli_uses_the_history_of_the_leader_or_reports_that_it_is_missing(
    quotree: Quotree, tmp_path: Path, words: tuple[str, ...]
) -> None:
    control_plane, edit = quotree.cluster, tmp_path / "edit.yaml"
    edit.write_text(TREE)
    control_plane.apply(READER)
    served = ("get", "groupexplanations", "nlp", "-o", "jsonpath={.status.pastUse[*].resource}")
    wait_for(lambda: "cpu" in control_plane.kubectl(*served, check=False).stdout, "past use is served")

    computes = ("-f", str(edit)) if words == ("what-if",) else ("--at", datetime.now(UTC).isoformat())

    def reports_that_it_is_old(*user: str) -> bool:
        return "past use is read from the statuses" in spoken(quotree, *words, *computes, *user).stderr

    wait_for(lambda: not reports_that_it_is_old(), "it asks the leader")
    assert reports_that_it_is_old("--as", "reader")


def test_dashboard_starts_from_the_past_use_of_the_leader(quotree: Quotree) -> None:
    served = ("get", "groupexplanations", "nlp", "-o", 'jsonpath={.status.pastUse[?(@.resource=="cpu")].amount}')

    def known() -> int:
        return int(quotree.cluster.kubectl(*served, check=False).stdout or 0)

    wait_for(lambda: known() > 0, "past use is served")

    def starts_from_it() -> bool:
        least = known() * 9 // 10
        past = asyncio.run(_past_of_dashboard(quotree.cluster.kubeconfig))
        return past.get("nlp", {}).get(FlavorResource("default", "cpu"), 0) >= least > 0

    wait_for(starts_from_it, "the dashboard knows what the leader knows", seconds=120)


async def _past_of_dashboard(kubeconfig: Path) -> PastUse:
    """The past use in the first sighting of the whole cluster."""
    async with connected(ConnectionSettings(kubeconfig=str(kubeconfig))) as connection, asyncio.timeout(150):
        seen = WatchedCluster(Client(connection), QuotaSettings(fairness_half_life=timedelta(hours=1)), Kinds(), None)
        watching = asyncio.create_task(seen.run())
        while not (sighting := seen.look(datetime.now(UTC))).is_complete:
            await seen.changed.wait()
            seen.changed.clear()
        watching.cancel()
        await asyncio.wait([watching])
        return sighting.world.past_use


def test_anonymous_callers_are_refused(quotree: Quotree) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for base, expected in ((quotree.cluster.url, 403), (f"https://127.0.0.1:{quotree.visibility}", 401)):
        request = urllib.request.Request(
            f"{base}{API}/namespaces/team-b/pendingworkloads", headers={"X-Remote-User": "x"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, context=context, timeout=10)
        assert refused.value.code == expected
        refused.value.close()


def test_kubectl_explains_the_kinds_and_watches_them(quotree: Quotree) -> None:
    def explained() -> str:
        return quotree.cluster.kubectl("explain", "pw.status.group", check=False).stdout

    # The API server reads the schemas of an aggregated API once a minute.
    wait_for(lambda: "The leaf group whose quota it waits for." in explained(), "its schema is read", 120)
    words = ("get", "--raw", f"{API}/namespaces/team-a/pendingworkloads?watch=true&timeoutSeconds=3")
    watched = asked(lambda: quotree.cluster.kubectl(*words, check=False), "own").stdout
    event: dict[str, Any] = json.loads(watched.splitlines()[0])
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "own")


def serving_process(quotree: Quotree) -> int | None:
    """The process that the reconciler has started to serve the API; None while there is none."""
    children = Path(f"/proc/{quotree.reconcilers[-1].pid}/task").glob("*/children")
    for child in (int(word) for each in children for word in each.read_text().split()):
        if b"reconciler.visibility.front" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    return None


def test_serving_process_is_replaced_when_it_ends(quotree: Quotree) -> None:
    first = serving_process(quotree)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: serving_process(quotree) not in (None, first), "another one is started")
    wait_for(lambda: listed(quotree) == ["hidden-head", "own"], "it answers")


def test_namespace_deletion_completes_while_no_reconciler_serves(quotree: Quotree) -> None:
    control_plane = quotree.cluster
    control_plane.kubectl("create", "namespace", "short-lived")
    serving = serving_process(quotree)
    quotree.reconcilers[0].kill()
    wait_for(lambda: not Path(f"/proc/{serving}").exists(), "the process that serves ends with it")
    wait_for(lambda: available(control_plane) != "True", "the API server notices")
    assert "own" in control_plane.kubectl("get", "jobs", "-n", "team-a").stdout
    alone = dry_run(quotree)
    assert alone.returncode == 0, alone.stderr
    assert "would stop" not in alone.stderr
    control_plane.kubectl("delete", "namespace", "short-lived", "--timeout=200s", timeout=210)
    quotree.add_reconciler()
    wait_for(lambda: available(control_plane) == "True", "the API is registered again")
    wait_for(lambda: listed(quotree) == ["hidden-head", "own"], "it answers again")
