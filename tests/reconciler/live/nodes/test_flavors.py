"""Flavors under the whole of Quotree: injected at the start, taken out at an eviction, and another one chosen."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import installed
from tests.reconciler.reconciler_process import Quotree, admission_of, eviction_of, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
NAMESPACE = "/apis/batch/v1/namespaces/default"
TAINT = cluster.Taint("gpu", "true", "NoSchedule")
NODES = (
    cluster.NodeSpec("fast-0", labels={"model": "fast"}, taints=(TAINT,), allocatable={"cpu": "4", "pods": "20"}),
    cluster.NodeSpec("slow-0", labels={"model": "slow"}, allocatable={"cpu": "4", "pods": "20"}),
)
FLAVORS: dict[str, dict[str, Any]] = {
    "fast": {
        "nodeLabels": {"model": "fast"},
        "nodeTaints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    },
    "slow": {"nodeLabels": {"model": "slow"}},
}


GROUPS: dict[str, dict[str, Any]] = {
    "vision": {"quotas": [quota("fast", min="2"), quota("slow", min="2")]},
    "nlp": {"quotas": [quota("fast", min="2")]},
}


@contextmanager
def flavored(control_plane_binaries: binaries.Binaries, folder: Path, *flags: str) -> Iterator[Quotree]:
    """Webhook and reconciler, as the chart installs them, and two kinds of nodes; with these flags of Kubernetes."""
    with (
        cluster.start(
            control_plane_binaries, nodes=NODES, extra_apiserver_args=flags, extra_controller_manager_args=flags
        ) as control_plane,
        installed(control_plane),
    ):
        made = Quotree(control_plane, folder)
        wait_for(lambda: made.condition("root", "Active"), "the reconciler leads", LONG)
        for name, spec in FLAVORS.items():
            made.flavor(name, **spec)
        yield made


@pytest.fixture(scope="module")
def whole(control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quotree]:
    with flavored(control_plane_binaries, tmp_path_factory.mktemp("flavors")) as made:
        yield made


@pytest.fixture
def q(whole: Quotree) -> Iterator[Quotree]:
    """The groups as they are drawn above; all work is taken away afterwards."""
    for name, spec in GROUPS.items():
        whole.group(name, **{"flavorFungibility": None, "stopPolicy": None, **spec})
    wait_for(lambda: knows_its_flavors(whole), "the flavors are known, with their nodes", LONG)
    yield whole
    for path in (f"{NAMESPACE}/jobs", "/api/v1/namespaces/default/pods"):
        whole.delete(path)
    for name in ("root", *GROUPS):
        wait_for(lambda name=name: is_empty(whole, name), f"nothing of {name} is left", LONG)  # type: ignore[misc]


def is_empty(q: Quotree, group: str) -> bool:
    counted = q.group_status(group).get("workloads", {})
    return (counted.get("pending"), counted.get("admitted")) == (0, 0)


def knows_its_flavors(q: Quotree) -> bool:
    """Flavors and workloads are watched independently: what starts before a flavor is known starts in another."""
    return all(capacity(q, flavor) == "4" for flavor in FLAVORS)


def capacity(q: Quotree, flavor: str) -> str | None:
    quotas = q.group_status("root").get("quotas", [])
    return next((each.get("capacity", {}).get("cpu") for each in quotas if each["flavor"] == flavor), None)


def spec_of(q: Quotree, name: str) -> tuple[Any, Any]:
    spec = q.get_job(name)["spec"]["template"]["spec"]
    return spec.get("nodeSelector"), spec.get("tolerations")


def nodes_of(q: Quotree, job: str) -> set[str]:
    return {each["spec"].get("nodeName", "") for each in q.pods_of(job).values()}


def flavor_of(q: Quotree, name: str) -> str | None:
    note = admission_of(q.get_job(name))
    return None if note is None else note["flavors"]["cpu"]


def test_reclaimed_job_restarts_in_the_next_flavor(q: Quotree) -> None:
    q.job("first", "vision", "2")
    wait_for(lambda: nodes_of(q, "first") == {"fast-0"}, "it runs on the fast node", LONG)
    assert spec_of(q, "first") == ({"model": "fast"}, [{"key": "gpu", "operator": "Exists"}])
    q.job("second", "vision", "2")
    wait_for(lambda: nodes_of(q, "second") == {"fast-0"}, "it borrows the other fast half", LONG)
    q.job("lender", "nlp", "2")
    wait_for(lambda: nodes_of(q, "lender") == {"fast-0"}, "the lender has its half back", LONG)
    (victim,) = (name for name in ("first", "second") if eviction_of(q.get_job(name)) is not None)
    wait_for(lambda: nodes_of(q, victim) == {"slow-0"}, "the recycled one goes on on the slow node", LONG)
    assert flavor_of(q, victim) == "slow"
    assert spec_of(q, victim) == ({"model": "slow"}, None)


def test_job_with_a_node_selector_gets_the_matching_flavor(q: Quotree) -> None:
    q.job("picky", "vision", "1", pod={"nodeSelector": {"model": "slow"}})
    wait_for(lambda: nodes_of(q, "picky") == {"slow-0"}, "it runs where it wants", LONG)
    assert flavor_of(q, "picky") == "slow"


def test_job_that_accepts_one_flavor_waits_for_it(q: Quotree) -> None:
    q.job("only", "vision", "3", labels={"quotree.dev/flavor": "fast", "quotree.dev/preemptible": "false"})
    q.job("other", "vision", "2")
    wait_for(lambda: flavor_of(q, "other") is not None, "the other one starts", LONG)
    assert flavor_of(q, "only") is None


def test_no_pod_runs_on_a_node_of_another_flavor(q: Quotree) -> None:
    q.group("vision", stopPolicy="Hold")
    q.known("vision")
    for number in range(9):
        q.job(f"many-{number}", "vision", "1", run_for="300ms")
    wait_for(lambda: q.group_status("vision").get("workloads", {}).get("pending") == 9, "all wait", LONG)
    q.group("vision", stopPolicy="None")
    models: dict[str, set[str]] = {}

    def look() -> bool:
        for each in q.get("/api/v1/namespaces/default/pods")["items"]:
            node = each["spec"].get("nodeName", "")
            models.setdefault(each["metadata"]["labels"]["job-name"], set()).add(node.removesuffix("-0"))
        return all(finished(job) for job in q.jobs().values())

    wait_for(look, "all have finished", LONG, every=0.02)
    flavors_seen = {name: {flavor_of(q, name), ""} for name in models}
    assert {name: seen - flavors_seen[name] for name, seen in models.items()} == {name: set() for name in models}
    assert {flavor_of(q, name) for name in models} == {"fast", "slow"}


@pytest.mark.parametrize(
    ("fungibility", "flavors"),
    [
        pytest.param({}, ["fast", "slow"], id="next before borrowing"),
        pytest.param({"whenCanBorrow": "Borrow"}, ["fast", "fast"], id="borrows in the first"),
    ],
)
def test_when_can_borrow_chooses_between_borrowing_and_the_next_flavor(
    q: Quotree, fungibility: dict[str, str], flavors: list[str]
) -> None:
    q.group("vision", flavorFungibility=fungibility)
    q.known("vision")
    q.job("one", "vision", "2")
    wait_for(lambda: flavor_of(q, "one"), "it has vision's own", LONG)
    q.job("large", "nlp", "3")
    wait_for(lambda: q.group_status("nlp").get("workloads", {}).get("pending") == 1, "nlp wants all of its own", LONG)
    q.job("two", "vision", "2")
    wait_for(lambda: flavor_of(q, "two"), "it starts", LONG)
    assert [flavor_of(q, name) for name in ("one", "two")] == flavors


@pytest.mark.parametrize(
    ("fungibility", "flavor"),
    [
        pytest.param({}, "slow", id="next before reclaiming"),
        pytest.param({"whenCanReclaim": "Reclaim"}, "fast", id="reclaims in the first"),
    ],
)
def test_when_can_reclaim_chooses_between_reclaiming_and_the_next_flavor(
    q: Quotree, fungibility: dict[str, str], flavor: str
) -> None:
    q.group("vision", flavorFungibility=fungibility)
    q.known("vision")
    for name in ("nlp-1", "nlp-2"):
        q.job(name, "nlp", "2")
    wait_for(lambda: all(flavor_of(q, name) for name in ("nlp-1", "nlp-2")), "nlp uses all that is fast", LONG)
    q.job("asks", "vision", "2")
    wait_for(lambda: nodes_of(q, "asks") == {f"{flavor}-0"}, "it runs", LONG)
    assert flavor_of(q, "asks") == flavor
    evicted = [name for name in ("nlp-1", "nlp-2") if eviction_of(q.get_job(name)) is not None]
    assert len(evicted) == (1 if flavor == "fast" else 0)


def test_flavor_with_changed_nodes_keeps_running_workloads_and_starts_nothing(q: Quotree) -> None:
    q.job("stays", "vision", "1", labels={"quotree.dev/flavor": "slow"})
    q.job("moves", "vision", "2")
    wait_for(lambda: nodes_of(q, "moves") == {"fast-0"} and nodes_of(q, "stays") == {"slow-0"}, "both run", LONG)
    path = "/apis/quotree.dev/v1alpha1/resourceflavors/fast"
    wait_for(lambda: capacity(q, "fast") == "4", "the fast node is known", LONG)
    q.merge(path, {"spec": {"nodeLabels": {"model": "faster"}}})
    try:
        wait_for(lambda: capacity(q, "fast") != "4", "the flavor's new nodes are known", LONG)
        q.job("later", "vision", "2")
        wait_for(lambda: nodes_of(q, "later") == {"slow-0"}, "no node is fast any more", LONG)
        for name in ("moves", "stays"):
            assert (eviction_of(q.get_job(name)), len(nodes_of(q, name))) == (None, 1)
    finally:
        q.merge(path, {"spec": {"nodeLabels": {"model": "fast"}}})
        wait_for(lambda: capacity(q, "fast") == "4", "the fast node is known again", LONG)
