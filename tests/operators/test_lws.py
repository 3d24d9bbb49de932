"""What LeaderWorkerSet's operator does: the facts by which its groups of pods are governed by gates."""

from collections.abc import Iterator

import pytest

from dev.controlplane.binaries import Binaries
from dev.operators.recipe import LWS
from tests.operated import LONG, Object, Operated, named, operated, template
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (LWS,)
API = "leaderworkerset.x-k8s.io/v1"
PREFIX = "leaderworkerset.sigs.k8s.io"


@pytest.fixture(scope="module")
def lws(control_plane_binaries: Binaries) -> Iterator[Operated]:
    with operated(control_plane_binaries, LWS, API, "leaderworkersets") as started:
        yield started


def leaderworkerset(namespace: str, *, startup: str, leader: Object) -> Object:
    """Two groups of a leader and two workers."""
    group = {"size": 3, "leaderTemplate": leader, "workerTemplate": template()}
    spec = {"replicas": 2, "startupPolicy": startup, "leaderWorkerTemplate": group}
    return {"apiVersion": API, "kind": "LeaderWorkerSet", "metadata": named("serve", namespace), "spec": spec}


def test_the_pods_of_a_group_name_it_and_its_size_from_their_creation(lws: Operated, namespace: str) -> None:
    lws.cluster.kubectl("create", "namespace", namespace)
    lws.create(leaderworkerset(namespace, startup="LeaderCreated", leader=template()))
    wait_for(lambda: len(lws.pods(namespace)) == 6, "both groups are whole", LONG)
    found: dict[str, set[str]] = {}
    for pod in lws.pods(namespace):
        found.setdefault(pod["metadata"]["labels"][f"{PREFIX}/group-key"], set()).add(pod["metadata"]["name"])
        assert pod["metadata"]["annotations"][f"{PREFIX}/size"] == "3"
    groups = sorted(sorted(each) for each in found.values())
    assert groups == [["serve-0", "serve-0-1", "serve-0-2"], ["serve-1", "serve-1-1", "serve-1-2"]]


def test_gated_leaders_get_their_workers_at_once_or_when_they_are_ready(lws: Operated, namespace: str) -> None:
    gated = template(schedulingGates=[{"name": "example.com/wait"}])
    lws.cluster.kubectl("create", "namespace", namespace)
    lws.create(leaderworkerset(namespace, startup="LeaderReady", leader=gated))
    wait_for(lambda: len(lws.pods(namespace)) == 2, "both leaders are there", LONG)
    at_once = f"{namespace}-2"
    lws.cluster.kubectl("create", "namespace", at_once)
    lws.create(leaderworkerset(at_once, startup="LeaderCreated", leader=gated))
    wait_for(lambda: len(lws.pods(at_once)) == 6, "their workers are there", LONG)
    assert sorted(each["metadata"]["name"] for each in lws.pods(namespace)) == ["serve-0", "serve-1"]


def test_a_group_that_is_made_again_has_the_same_key(lws: Operated, namespace: str) -> None:
    lws.cluster.kubectl("create", "namespace", namespace)
    lws.create(leaderworkerset(namespace, startup="LeaderCreated", leader=template()))
    wait_for(lambda: len(lws.pods(namespace)) == 6, "both groups are whole", LONG)
    before = {each["metadata"]["name"]: each["metadata"] for each in lws.pods(namespace)}
    lws.cluster.kubectl("delete", "pod", "serve-0", "-n", namespace, "--wait=false")

    def made_again() -> bool:
        now = {each["metadata"]["name"]: each["metadata"] for each in lws.pods(namespace)}
        names = ("serve-0", "serve-0-1", "serve-0-2")
        return len(now) == 6 and all(now[name]["uid"] != before[name]["uid"] for name in names)

    wait_for(made_again, "the group is made again", LONG)
    leader = next(each for each in lws.pods(namespace) if each["metadata"]["name"] == "serve-0")
    assert leader["metadata"]["labels"][f"{PREFIX}/group-key"] == before["serve-0"]["labels"][f"{PREFIX}/group-key"]
