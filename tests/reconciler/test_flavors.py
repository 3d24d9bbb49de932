"""Flavors under the whole of Quotree: injected at the start, taken out at an eviction, and another one chosen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane import binaries, cluster
from controlplane.quotree import installed
from tests.reconciler.running import Quotree, admission_of, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(300)
LONG = 90.0
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


@pytest.fixture
def q(control_plane_binaries: binaries.Binaries, tmp_path: Path) -> Iterator[Quotree]:
    """Webhook and reconciler, as the chart installs them, and two kinds of nodes."""
    with cluster.start(control_plane_binaries, nodes=NODES) as cp, installed(cp):
        made = Quotree(cp, tmp_path)
        wait_for(lambda: made.condition("root", "Active"), "the reconciler leads", LONG)
        for name, spec in FLAVORS.items():
            made.flavor(name, **spec)
        made.group("vision", quotas=[quota("fast", min="2"), quota("slow", min="2")])
        made.group("nlp", quotas=[quota("fast", min="2")])
        yield made


def spec_of(q: Quotree, name: str) -> tuple[Any, Any]:
    spec = q.get_job(name)["spec"]["template"]["spec"]
    return spec.get("nodeSelector"), spec.get("tolerations")


def nodes_of(q: Quotree, job: str) -> set[str]:
    pods = q.get("/api/v1/namespaces/default/pods")["items"]
    mine = [each for each in pods if each["metadata"]["labels"].get("job-name") == job]
    live = [each for each in mine if not each["metadata"].get("deletionTimestamp")]
    return {each["spec"].get("nodeName", "") for each in live}


def flavor_of(q: Quotree, name: str) -> str | None:
    note = admission_of(q.get_job(name))
    return None if note is None else note["flavors"]["cpu"]


def test_a_recycled_job_leaves_its_flavor_and_runs_in_the_next(q: Quotree) -> None:
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


def test_a_job_that_says_which_nodes_it_wants_gets_their_flavor(q: Quotree) -> None:
    q.job("picky", "vision", "1", pod={"nodeSelector": {"model": "slow"}})
    wait_for(lambda: nodes_of(q, "picky") == {"slow-0"}, "it runs where it wants", LONG)
    assert flavor_of(q, "picky") == "slow"


def test_a_job_asks_for_one_flavor_and_waits_for_it(q: Quotree) -> None:
    q.job("only", "vision", "3", labels={"quotree.dev/flavor": "fast", "quotree.dev/preemptible": "false"})
    q.job("other", "vision", "2")
    wait_for(lambda: flavor_of(q, "other") is not None, "the other one starts", LONG)
    assert flavor_of(q, "only") is None
