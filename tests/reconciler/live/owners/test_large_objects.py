"""A tenant's Jobs of more than a megabyte neither delay other tenants for long nor take memory by their size."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for
from tests.reconciler.tenants import JOBS, Tenant

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
LARGE = 30
TERMS = 4500


def large_job(name: str) -> dict[str, Any]:
    """About 1.3 MB of node affinity."""
    values = [f"{name}-{number:010d}" for number in range(12)]
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": values}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term] * TERMS}}
    }
    return job_manifest(name, "vision", "1", pod={"affinity": affinity})


def greedy_job(name: str) -> dict[str, Any]:
    """It asks for none of 100 resources, so that it would fit everywhere."""
    named = {f"example.com/resource-{number}": "0" for number in range(100)}
    found = job_manifest(name, "vision", "1")
    found["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": named, "limits": named}
    return found


def resident_mib(q: Quotree) -> float:
    assert q.process is not None
    pages = int(Path(f"/proc/{q.process.pid}/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def test_large_jobs_of_one_tenant_do_not_block_others(throwaway: Quotree) -> None:
    q = throwaway
    tenant = Tenant.of(q)
    q.lead()
    q.group("vision", quotas=[quota(min="100")])
    q.group("nlp", quotas=[quota(min="500")])
    q.job("before", "nlp", "1")
    wait_for(lambda: "before" in q.running(), "it decides", LONG)
    before = resident_mib(q)
    tenant.create(JOBS, greedy_job("greedy"))
    delays = []
    for number in range(LARGE):
        tenant.create(JOBS, large_job(f"large-{number}"))
        if number % 10 == 9:
            q.job(f"small-{number}", "nlp", "1")
            created = time.monotonic()
            wait_for(lambda number=number: is_running(q, f"small-{number}"), "another tenant's Job starts", LONG)  # type: ignore[misc]
            delays.append(time.monotonic() - created)
    q.job("last", "vision", "1")
    wait_for(lambda: is_running(q, "last"), "all before it are known", LONG)
    assert {each for each in q.running() if not each.startswith("small-")} == {"before", "last"}
    wait_for(lambda: "NotAsWritten" in dict(q.events("greedy")), "its owner is told", LONG)
    print("seconds until another tenant's Job ran:", [round(each, 2) for each in delays])
    print(f"memory {before:.0f} MiB before, {resident_mib(q):.0f} MiB after")
    assert resident_mib(q) - before < 150
    assert q.metric("quotree_leader") == 1


def is_running(q: Quotree, name: str) -> bool:
    return not q.get_job(name)["spec"].get("suspend")
