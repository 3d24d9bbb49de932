"""Two tenants with kubectl: neither learns the name of a workload of the other."""

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack, closing

import pytest

from dev.controlplane.quotree import Quotree
from tests.e2e.visibility.manifests import BY_NAME, OWNER
from tests.e2e.visibility.steps import API, HIDDEN, as_team, first_answer, submit, suspended, wait_for

pytestmark = pytest.mark.timeout(900)
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
    answer = first_answer(lambda: as_team(quotree, "team-a", *words), "own")
    assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []


def test_evicted_tenant_is_given_the_group_of_the_preemptor(quotree: Quotree) -> None:
    control_plane = quotree.cluster
    submit(control_plane, "team-a", "lent", "borrower", "50Gi")
    wait_for(lambda: not suspended(control_plane, "borrower", "team-a"), "it borrows")
    submit(control_plane, "team-b", "owed", "hidden-owner", "40Gi")
    wait_for(lambda: not suspended(control_plane, "hidden-owner"), "its owner takes it back")
    waits = ("get", "explanations", "borrower", "-n", "team-a", "-o", "json")
    status = json.loads(first_answer(lambda: as_team(quotree, "team-a", *waits), "lastEviction").stdout)["status"]
    assert (status["evictions"], status["lastEviction"]["forGroup"]) == (1, "owed")
    events = ("get", "events", "-n", "team-a", "-o", "json")
    wait_for(lambda: "a workload of group 'owed'" in as_team(quotree, "team-a", *events).stdout, "an event says it")
    for words in (waits, events, ("get", "jobs,pods,pw,explanations", "-n", "team-a", "-o", "yaml")):
        answer = as_team(quotree, "team-a", *words)
        assert [each for each in HIDDEN if each in answer.stdout + answer.stderr] == []
    named = json.loads(quotree.command("explain", "team-a/borrower", "-o", "json"))["lastEviction"]
    assert (named["for"], named["forGroup"]) == ("team-b/hidden-owner", "owed")
    (taken,) = json.loads(quotree.command("history", "owed", "-o", "json"))["items"]
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
        lambda: "borrower" not in first_answer(lambda: as_team(quotree, "team-a", *left), "own").stdout,
        "it is forgotten",
    )


def test_all_rights_in_one_namespace_reach_no_other(quotree: Quotree) -> None:
    quotree.cluster.apply(OWNER)
    inside = ("get", "--raw", f"{API}/namespaces/team-a/pendingworkloads")
    wait_for(lambda: "own" in as_team(quotree, "owner-a", *inside).stdout, "the rights are known")
    for way in WAYS_OUT:
        answer = as_team(quotree, "owner-a", "get", "--raw", f"{API}/{way}")
        assert [each for each in HIDDEN if each in answer.stdout] == [], way


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


def watch(quotree: Quotree, open_ones: ExitStack, user: str, namespace: str) -> tuple[int, str]:
    """Open one as that user, which stays open if it is accepted; the status, and what is said instead."""
    address = urllib.parse.urlsplit(quotree.cluster.url)
    trusting = ssl.create_default_context(cafile=str(quotree.cluster.ca_file))
    connection = http.client.HTTPSConnection(str(address.hostname), address.port, timeout=60, context=trusting)
    open_ones.enter_context(closing(connection))
    path = f"{API}/namespaces/{namespace}/pendingworkloads?watch=true&timeoutSeconds=60"
    connection.request(
        "GET", path, headers={"Authorization": f"Bearer {quotree.cluster.token}", "Impersonate-User": user}
    )
    answer = connection.getresponse()
    return answer.status, "" if answer.status == 200 else answer.read().decode()


def test_watches_of_one_tenant_leave_room_for_those_of_others(quotree: Quotree) -> None:
    quotree.cluster.apply(OWNER)
    with ExitStack() as open_ones:
        for number in range(20):
            wait_for(lambda: watch(quotree, open_ones, "owner-a", "team-a")[0] == 200, f"watch {number} is open")
        refused = "20 watches of this user, or of its namespace's accounts, are open; close one"
        wait_for(lambda: refused in watch(quotree, open_ones, "owner-a", "team-a")[1], "one more is refused")
        wait_for(lambda: watch(quotree, open_ones, "team-b", "team-b")[0] == 200, "another tenant has one")


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_tenant_is_forbidden_to_read_other_namespaces_and_groups(quotree: Quotree, words: tuple[str, ...]) -> None:
    answer = as_team(quotree, "team-a", *words)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "Forbidden" in answer.stderr


def test_anonymous_callers_are_refused(quotree: Quotree) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for base, expected in ((quotree.cluster.url, 403), (f"https://127.0.0.1:{quotree.visibility}", 401)):
        request = urllib.request.Request(
            f"{base}{API}/namespaces/team-b/pendingworkloads", headers={"X-Remote-User": "x"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, context=context, timeout=60)
        assert refused.value.code == expected
        refused.value.close()
