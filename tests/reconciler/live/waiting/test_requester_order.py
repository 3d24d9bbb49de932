"""Namespaces and users of one leaf take turns, on a real control plane. docs/specification.md §6.7."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest

from shared.api.names import USER
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from tests.reconciler.reconciler_process import Quotree, admission_of, finished, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(900)
REQUESTERS = ("x-first", "y", "z")
ROOM = 10
LONG = 240.0


def namespace_of(requester: str, order: str) -> str:
    return requester if order == "Namespace" else "default"


def created(q: Quotree, requester: str, number: int, order: str, run_for: str | None = None) -> None:
    """Create so many Jobs of one requester: in its namespace, or by it in one namespace."""

    async def all_at_once() -> None:
        async with connected(ConnectionSettings(kubeconfig=str(q.control_plane.kubeconfig))) as connection:
            client = Client(connection, concurrency=32, timeout=timedelta(minutes=3))
            await asyncio.gather(*(client.create(JOBS, each, namespace) for each in manifests))

    namespace = namespace_of(requester, order)
    manifests = [job_manifest(f"{requester}-{index}", "shared", run_for=run_for) for index in range(number)]
    for each in manifests:
        each["metadata"]["annotations"] = {} if order == "Namespace" else {USER: requester}
    asyncio.run(all_at_once())


def namespaces(q: Quotree, names: Iterable[str] = REQUESTERS) -> None:
    for name in names:
        q.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def starts(q: Quotree) -> list[str]:
    """The requesters of all Jobs that have started, in the order of their starts."""
    items = q.get("/apis/batch/v1/jobs")["items"]
    notes = [(admission_of(each), each["metadata"]["name"].rpartition("-")[0]) for each in items]
    return [name for _, name in sorted((note["time"], name) for note, name in notes if note is not None)]


def past_use(q: Quotree) -> dict[str, int]:
    """Millicores times seconds in the status, by requester."""
    return {each["name"]: int(each["pastUse"]["cpu"]) for each in q.group_status("shared").get("requesters", [])}


def ended(q: Quotree) -> int:
    return sum(finished(each) for each in q.get("/apis/batch/v1/jobs")["items"])


def shared_leaf(q: Quotree, order: str, room: int = ROOM) -> None:
    limits: dict[str, str] = {"min": str(room), "max": str(room)}
    q.group("shared", quotas=[quota(**limits)], queueing={"order": order}, stopPolicy="Hold")


@pytest.mark.parametrize("order", ["Namespace", "User"])
def test_each_gets_a_third_although_one_queued_500_first(q: Quotree, order: str) -> None:
    q.lead()
    namespaces(q)
    shared_leaf(q, order, room=120)
    for requester, number in zip(REQUESTERS, (500, 80, 60), strict=True):
        created(q, requester, number, order)
    wait_for(lambda: q.workload_counts("shared").get("pending") == 640, "all wait", LONG)
    q.group("shared", stopPolicy="None")
    # By the status: to list so many Jobs again and again would slow what is waited for.
    wait_for(lambda: q.workload_counts("shared").get("pending") == 520, "120 have started", LONG, every=1)
    assert Counter(starts(q)) == dict.fromkeys(REQUESTERS, 40)
    # Jobs end when the test says so: those of a busy machine run for different times, and turns go by use.
    home = namespace_of("y", order)
    running = sorted(name for name in q.running(home) if name.startswith("y-"))
    for name in running[:30]:
        q.delete(f"/apis/batch/v1/namespaces/{home}/jobs/{name}")
    wait_for(lambda: q.workload_counts("shared").get("pending") == 490, "30 more have started", LONG, every=1)
    assert Counter(starts(q)) == dict.fromkeys(REQUESTERS, 40)


@pytest.mark.parametrize("order", ["Namespace", "User"])
def test_past_use_goes_on_after_the_leader_was_killed(q: Quotree, order: str) -> None:
    fairness = {"fairness": {"halfLife": "10m"}}
    q.lead(**fairness)
    namespaces(q)
    shared_leaf(q, order)
    created(q, "x-first", 30, order, run_for="90s")
    q.group("shared", stopPolicy="None")
    wait_for(lambda: past_use(q).get("x-first", 0) >= 400 * 1000, "past use is in the status", LONG, every=1)
    q.kill()
    wait_for(lambda: ended(q) == ROOM, "what ran has ended", LONG, every=1)
    for requester in ("y", "z"):
        created(q, requester, 30, order, run_for="90s")
    q.release()
    q.lead(**fairness)
    wait_for(lambda: len(starts(q)) >= 2 * ROOM, "the room is used again", LONG)
    # Each place adds 360 cpu seconds: 400 to 1000 that x has used are worth two places. Without them it had four.
    assert Counter(starts(q)[ROOM : 2 * ROOM]) == {"x-first": 2, "y": 4, "z": 4}
