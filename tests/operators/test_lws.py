"""What LeaderWorkerSet's operator does, alone and with its groups of pods governed by gates."""

from collections.abc import Iterator

import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import LWS
from tests.operated import GPU, LONG, Labels, Object, Operated, named, operated, template
from tests.operated_stories import STOP_TAKES, Governed, entry, governed
from tests.reconciler.reconciler_process import job_manifest, wait_for

OPERATORS = (LWS,)
API = "leaderworkerset.x-k8s.io/v1"
PREFIX = "leaderworkerset.sigs.k8s.io"


@pytest.fixture(scope="module")
def lws(control_plane_binaries: Binaries) -> Iterator[Operated]:
    with operated(control_plane_binaries, LWS, API, "leaderworkersets") as started:
        yield started


@pytest.fixture(scope="module")
def governed_lws(lws: Operated) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""

    def manifest(namespace: str, leader: Object, _worker: Object, _labels: Labels) -> Object:
        return leaderworkerset(namespace, startup="LeaderCreated", leader=leader, replicas=3)

    with governed(lws, "leaderworkerset", manifest, template) as it:
        yield it


def leaderworkerset(namespace: str, *, startup: str, leader: Object, replicas: int = 2) -> Object:
    """Groups of a leader and two workers."""
    group = {"size": 3, "leaderTemplate": leader, "workerTemplate": template(annotations=STOP_TAKES)}
    spec = {"replicas": replicas, "startupPolicy": startup, "leaderWorkerTemplate": group}
    return {"apiVersion": API, "kind": "LeaderWorkerSet", "metadata": named("serve", namespace), "spec": spec}


def test_pods_have_group_and_size_labels_from_creation(lws: Operated, namespace: str) -> None:
    lws.cluster.kubectl("create", "namespace", namespace)
    lws.create(leaderworkerset(namespace, startup="LeaderCreated", leader=template()))
    wait_for(lambda: len(lws.pods(namespace)) == 6, "both groups are whole", LONG)
    found: dict[str, set[str]] = {}
    for pod in lws.pods(namespace):
        found.setdefault(pod["metadata"]["labels"][f"{PREFIX}/group-key"], set()).add(pod["metadata"]["name"])
        assert pod["metadata"]["annotations"][f"{PREFIX}/size"] == "3"
    groups = sorted(sorted(each) for each in found.values())
    assert groups == [["serve-0", "serve-0-1", "serve-0-2"], ["serve-1", "serve-1-1", "serve-1-2"]]


def test_gated_leader_gets_its_workers_at_creation_or_when_ready_by_startup_policy(
    lws: Operated, namespace: str
) -> None:
    gated = template(schedulingGates=[{"name": "example.com/wait"}])
    lws.cluster.kubectl("create", "namespace", namespace)
    lws.create(leaderworkerset(namespace, startup="LeaderReady", leader=gated))
    wait_for(lambda: len(lws.pods(namespace)) == 2, "both leaders are there", LONG)
    at_once = f"{namespace}-2"
    lws.cluster.kubectl("create", "namespace", at_once)
    lws.create(leaderworkerset(at_once, startup="LeaderCreated", leader=gated))
    wait_for(lambda: len(lws.pods(at_once)) == 6, "their workers are there", LONG)
    assert sorted(each["metadata"]["name"] for each in lws.pods(namespace)) == ["serve-0", "serve-1"]


def test_recreated_group_has_the_same_key(lws: Operated, namespace: str) -> None:
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


def test_groups_of_a_leaderworkerset_start_wait_and_are_reclaimed_whole(governed_lws: Governed, namespace: str) -> None:
    it, lender = governed_lws, "lender"
    room = entry("t4", cpu=6)
    it.group("research", isParent=True, quotas=[{**room, "max": room["min"]}])
    it.group("serve", "research", quotas=[entry("t4", cpu=3)])
    it.group("language", "research", quotas=[entry("t4", cpu=3)])
    for name, group in ((namespace, "serve"), (lender, "language")):
        it.operated.cluster.kubectl("create", "namespace", name)
        it.operated.cluster.kubectl("label", "namespace", name, f"quotree.dev/group={group}")
    it.operated.create(it.manifest(namespace, template(annotations=STOP_TAKES), template(), {}))
    wait_for(lambda: _running(it, namespace) == [0, 3, 3], "two groups serve, one of them borrowed", LONG)
    wait_for(lambda: len(it.operated.pods(namespace)) == 9, "the pods of the third wait", LONG)

    it.operated.cluster.apply(
        yaml.safe_dump(job_manifest("lender", None, pods=3) | {"metadata": named("lender", lender)})
    )
    wait_for(lambda: it.operated.nodes(lender) == ["t4-0"] * 3, "the lender runs", LONG)
    wait_for(lambda: _running(it, namespace) == [0, 0, 3], "one group serves, two wait whole", LONG)

    it.operated.cluster.kubectl("delete", "job", "lender", "-n", lender)
    wait_for(lambda: _running(it, namespace) == [0, 3, 3], "two groups serve again", LONG)

    it.group("research", isParent=True, quotas=[{**entry("t4", cpu=12), "max": {"cpu": 12, GPU: 0}}])
    wait_for(lambda: _running(it, namespace) == [3, 3, 3], "all three serve", LONG)
    before = {each["metadata"]["uid"] for each in it.operated.pods(namespace)}
    it.operated.cluster.kubectl("delete", "pod", "serve-0", "-n", namespace, "--wait=false")

    def is_made_again() -> bool:
        made = {each["metadata"]["uid"] for each in it.operated.pods(namespace)} - before
        return len(made) == 3 and _running(it, namespace) == [3, 3, 3]

    wait_for(is_made_again, "the group whose leader was deleted is made again and serves", LONG)


def test_leaderworkerset_with_leader_ready_startup_is_refused(governed_lws: Governed, namespace: str) -> None:
    it = governed_lws
    it.operated.cluster.kubectl("create", "namespace", namespace)
    it.operated.cluster.kubectl("label", "namespace", namespace, "quotree.dev/managed=true")
    body = leaderworkerset(namespace, startup="LeaderReady", leader=template())
    refused = it.operated.cluster.kubectl("create", "-f", "-", input=yaml.safe_dump(body), check=False)
    assert "KindRefused" in refused.stderr
    assert "set spec.startupPolicy to LeaderCreated" in refused.stderr


def _running(it: Governed, namespace: str) -> list[int]:
    """How many pods of each group have a node, sorted; a group of which none has counts as well."""
    placed: dict[str, int] = {}
    for pod in it.operated.pods(namespace):
        key = pod["metadata"]["labels"][f"{PREFIX}/group-key"]
        placed[key] = placed.get(key, 0) + bool(pod["spec"].get("nodeName"))
    return sorted(placed.values())
