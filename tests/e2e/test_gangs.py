"""Jobs handed to kube-scheduler as PodGroups: with the feature gates on, the real scheduler places all pods or none."""

from collections.abc import Iterator
from typing import Any

import pytest

from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs import found
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from tests.e2e.kubectl_steps import Asking, Object, group, job

GATES = ("--feature-gates=GenericWorkload=true",)
PROTECTION = "podgroup-protection-controller"
POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io/job-name="
PARTS: dict[str, Any] = {"parallelism": 3, "completions": 3}
ON_REQUEST = {"quotree.dev/startup": '{"gang": true}'}

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    """Two nodes of 3 cpu: of three pods of 2 cpu, two have a place."""
    version = found.probed(control_plane_binaries.kube_apiserver).version
    if version is None or version < (1, 37):
        pytest.skip("PodGroups: since Kubernetes 1.37")
    nodes = [NodeSpec(f"node-{number}", allocatable={"cpu": "3", "memory": "64Gi"}) for number in range(2)]
    with cluster.start(
        control_plane_binaries,
        nodes=nodes,
        controllers=(*cluster.DEFAULT_CONTROLLERS, PROTECTION),
        extra_apiserver_args=[*GATES, "--runtime-config=scheduling.k8s.io/v1beta1=true"],
        extra_controller_manager_args=GATES,
        extra_scheduler_args=GATES,
    ) as started:
        on = {"gangScheduling": True, "openGroups": True}
        with installed(started, quota=on, values=["quota.gangScheduling=true", "quota.openGroups=true"]) as running:
            yield running


@pytest.fixture
def ask(quotree: Quotree) -> Iterator[Asking]:
    asking = Asking(quotree, quotree.cluster.kubeconfig)
    quotas = [{"min": {"cpu": "6"}}]
    tree = [
        group("vision", quotas=quotas, startup={"gang": True}),
        group("language", quotas=quotas),
    ]
    assert asking.edit_tree(*tree).returncode == 0
    for each in ("vision", "language"):
        asking.known(each)
    yield asking
    asking.clear()
    asking.until("no PodGroup is left", lambda: not stored(asking, POD_GROUPS)["items"])


def gang(name: str, leaf: str, annotations: dict[str, str] | None = None, cpu: int = 2) -> Object:
    made = job(name, leaf, cpu, **PARTS)
    made["metadata"]["annotations"] = annotations or {}
    return made


def stored(ask: Asking, path: str) -> Object:
    status, found = ask.quotree.cluster.rest.request("GET", path)
    assert status == 200, found
    return dict(found)


def pods(ask: Asking, name: str) -> list[Object]:
    return [*stored(ask, PODS + name)["items"]]


def placed(ask: Asking, name: str) -> int:
    return sum("nodeName" in each["spec"] for each in pods(ask, name))


def pod_groups(ask: Asking) -> dict[str, Object]:
    """Return the PodGroups by the Jobs that own them."""
    items = stored(ask, POD_GROUPS)["items"]
    return {each["metadata"]["ownerReferences"][0]["name"]: each for each in items}


def least(ask: Asking, name: str) -> int:
    """How many pods of the Job are placed together; 0: it has no PodGroup."""
    found = pod_groups(ask).get(name)
    return 0 if found is None else int(found["spec"]["schedulingPolicy"]["gang"]["minCount"])


def is_looked_at(ask: Asking, name: str) -> bool:
    """Whether the scheduler has tried all of its pods and found no place for the gang."""
    conditions = pod_groups(ask).get(name, {}).get("status", {}).get("conditions", [])
    return any(each["status"] == "False" for each in conditions)


def test_scheduler_places_all_pods_of_a_gang_or_none(ask: Asking) -> None:
    assert ask.apply(gang("each", "language")).returncode == 0
    ask.until("without a gang two of three are placed", lambda: placed(ask, "each") == 2)
    ask.clear()
    assert ask.apply(gang("all", "vision")).returncode == 0
    ask.until("its PodGroup is there", lambda: least(ask, "all") == 3)
    ask.until("the scheduler has no place for it", lambda: is_looked_at(ask, "all"))
    assert (len(pods(ask, "all")), placed(ask, "all")) == (3, 0)
    node = NodeSpec("node-more", allocatable={"cpu": "2", "memory": "64Gi"})
    ask.quotree.cluster.add_nodes([node])
    try:
        ask.until("all are placed at once", lambda: placed(ask, "all") == 3)
        ask.until("pods that replace others need not wait for more", lambda: least(ask, "all") == 1)
    finally:
        ask.clear()
        ask.quotree.cluster.kubectl("delete", "node", "node-more")


def test_pod_group_goes_with_the_eviction_and_comes_with_the_next_start(ask: Asking) -> None:
    assert ask.apply(gang("held", "language", ON_REQUEST)).returncode == 0
    ask.until("its PodGroup is there", lambda: least(ask, "held") == 3)
    first = pod_groups(ask)["held"]["metadata"]["uid"]
    assert (
        ask.patch(
            "held", '{"metadata": {"labels": {"quotree.dev/hold": "true"}}, "spec": {"suspend": true}}'
        ).returncode
        == 0
    )
    ask.until("it is gone", lambda: not pod_groups(ask) and not pods(ask, "held"))
    assert ask.patch("held", '{"metadata": {"labels": {"quotree.dev/hold": null}}}').returncode == 0
    ask.until("there is another", lambda: least(ask, "held") == 3)
    assert pod_groups(ask)["held"]["metadata"]["uid"] != first


def test_what_the_owner_wrote_is_left_alone(ask: Asking) -> None:
    own, never = gang("own", "vision", cpu=1), gang("never", "vision", {"quotree.dev/startup": '{"gang": false}'})
    own["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "mine"}
    assert ask.apply(own).returncode == 0
    ask.until("the first has started", lambda: not ask.is_held("own"))
    assert ask.apply(gang("asked", "vision", cpu=1), never).returncode == 0
    ask.until("the second has its PodGroup", lambda: least(ask, "asked") == 3)
    assert set(pod_groups(ask)) == {"asked"}
    templates = {name: ask.job(name)["spec"]["template"]["spec"].get("schedulingGroup") for name in ("own", "never")}
    assert templates == {"own": {"podGroupName": "mine"}, "never": None}


def test_refused_pod_group_is_reported_to_the_owner(ask: Asking) -> None:
    bar_pod_groups(ask)
    try:
        assert ask.apply(gang("barred", "vision", cpu=1)).returncode == 0
        ask.until("its owner is told", lambda: "PodGroupRefused" in events(ask, "barred"))
        ask.until("it stands on the Job", lambda: "exceeded quota: no-gangs" in waiting(ask, "barred"))
        text = ask.quotree.command("explain", "default/barred")
        assert "kube-scheduler places none of its pods: their PodGroup is refused: " in text
        assert "exceeded quota: no-gangs" in text
    finally:
        ask.quotree.cluster.kubectl("delete", "resourcequota", "no-gangs")
    ask.until("it is tried again", lambda: placed(ask, "barred") == 3)
    ask.until("nothing is left of it", lambda: not waiting(ask, "barred"))


def bar_pod_groups(ask: Asking) -> None:
    """Limit them to none; no controller of this cluster writes what the limit counts."""
    none = {"count/podgroups.scheduling.k8s.io": "0"}
    metadata = {"name": "no-gangs", "namespace": "default"}
    limit = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": none}}
    rest, path = ask.quotree.cluster.rest, "/api/v1/namespaces/default/resourcequotas"
    assert rest.request("POST", path, limit)[0] == 201
    written = {"status": {"hard": none, "used": none}}
    assert rest.request("PATCH", f"{path}/no-gangs/status", written, "application/merge-patch+json")[0] == 200
    kind = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "one"}}
    body = {**kind, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}
    ask.until("none can be made", lambda: rest.request("POST", f"{POD_GROUPS}?dryRun=All", body)[0] == 403)


def events(ask: Asking, name: str) -> str:
    found = stored(ask, f"/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name={name}")
    return " ".join(each["reason"] for each in found["items"])


def waiting(ask: Asking, name: str) -> str:
    return str(ask.job(name)["metadata"]["annotations"].get("quotree.dev/waiting", ""))


def test_another_process_makes_what_is_missing_and_deletes_what_is_left(ask: Asking) -> None:
    assert ask.apply(gang("runs", "vision"), gang("waits", "vision")).returncode == 0
    ask.until("one has started", lambda: len(pod_groups(ask)) == 1)
    (started,) = pod_groups(ask)
    (waiting,) = {"runs", "waits"} - {started}
    (process,) = ask.quotree.reconcilers
    process.kill()
    made = pod_groups(ask)[started]
    uid, path = made["metadata"]["uid"], f"{POD_GROUPS}/{made['metadata']['name']}"
    owner = {**made["metadata"]["ownerReferences"][0], "name": waiting, "uid": ask.job(waiting)["metadata"]["uid"]}
    metadata = {**made["metadata"], "name": "quotree-left", "resourceVersion": None, "ownerReferences": [owner]}
    rest = ask.quotree.cluster.rest
    assert rest.request("POST", POD_GROUPS, {**made, "metadata": metadata})[0] == 201
    assert rest.request("DELETE", path)[0] == 200
    words = ("patch", "podgroup", made["metadata"]["name"], "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    ask.quotree.cluster.kubectl(*words, check=False)
    process.start()

    def is_as_the_jobs_say() -> bool:
        seen = pod_groups(ask)
        return set(seen) == {started} and seen[started]["metadata"]["uid"] != uid

    ask.until("what is missing is made, what is left is deleted", is_as_the_jobs_say)
