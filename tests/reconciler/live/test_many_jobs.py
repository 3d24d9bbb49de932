"""Many Jobs as fast as the API server takes them: all started, one write each, none refused for a status write."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from tests.reconciler.job_history import recording
from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for

HOW_MANY = 500
CPUS = 1000


async def create_all(q: Quotree) -> None:
    async with connected(ConnectionSettings(kubeconfig=str(q.control_plane.kubeconfig))) as connection:
        client = Client(connection, concurrency=64, timeout=timedelta(minutes=3))
        manifests = [job_manifest(f"job-{number}", f"team-{number % 10}", "1") for number in range(HOW_MANY)]
        await asyncio.gather(*(client.create(JOBS, manifest, "default") for manifest in manifests))


@pytest.mark.timeout(900)
def test_500_concurrent_jobs_complete_within_quota(throwaway: Quotree) -> None:
    q = throwaway
    q.lease_seconds = 120
    q.lead()
    for number in range(10):
        q.group(f"team-{number}", quotas=[quota(min="100", max="100")])
    q.known("team-9")
    before = len(q.control_plane.audit_events())
    with recording(q.control_plane) as history:
        asyncio.run(create_all(q))
        wait_for(lambda: len(q.running()) == HOW_MANY, "all Jobs have started", 200, every=1)
        once_each = {f"job-{number}": 1 for number in range(HOW_MANY)}
        wait_for(lambda: sum(history.starts().values()) >= HOW_MANY, "the record has caught up", 60)
        assert history.starts() == once_each
        assert list(history.wrongs()) == []
        assert history.most_used() <= CPUS * 1000
    done = [each for each in q.control_plane.audit_events()[before:] if each.stage == "ResponseComplete"]
    ours = [each for each in done if "quotree-reconciler" in each.user_agent]
    patches = Counter(
        each.code for each in ours if (each.verb, each.resource, each.subresource) == ("patch", "jobs", "")
    )
    events = sum(1 for each in ours if (each.verb, each.resource) == ("create", "events"))
    print(f"requests per Job: {len(ours) / HOW_MANY:.2f}, of them on the Job {patches.total() / HOW_MANY:.2f}")
    assert patches == {200: HOW_MANY}
    assert events <= HOW_MANY
