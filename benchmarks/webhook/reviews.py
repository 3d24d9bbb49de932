"""How many reviews of Jobs the webhook answers: per second, per core, and how long each takes.

    python -m benchmarks.webhook.reviews [--seconds 5] [--connections 16] [--groups 2000]

Two processes: the server as it runs in a pod (TLS 1.3, P-256, uvloop, a tree of `groups` groups) and a client that
keeps `connections` open, as the API server does. A review is 4 kB; half of them mutate, half validate. Reviews per
core are told by the server's own CPU time, so that a busy machine does not spoil them; latencies are the client's.
"""

import argparse
import asyncio
import json
import multiprocessing
import ssl
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import uvloop
from prometheus_client import CollectorRegistry

from benchmarks.results.figures import Figure, record
from shared.api.review import Review
from shared.kube.watch.memory import freeze_memory
from shared.quota.model.flavor import Flavor
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.rules.workloads.submitted_workload import WorkloadContext
from shared.quota.model.tree import Entry, Group, Tree
from shared.tls.ca import issue, make_ca
from shared.tls.serving_cert import CertificateHolder
from webhook.http.handler import Endpoints, Route
from webhook.http.server import Server
from webhook.metrics import WebhookMetrics
from webhook.verdicts import Verdict
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.reviews import judge, mutate
from webhook.workloads.sorts.job import JOB


def review_body(*, held: bool) -> bytes:
    """Return a Job of usual size, written as the API server writes: before the mutation, or after it."""
    container = {
        "name": "train",
        "image": "registry.example.com/team/train:1.2.3",
        "command": ["sh", "-c", "prepare && train > log"],
        "env": [{"name": f"SETTING_{number}", "value": "some value of some length"} for number in range(30)],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 1}},
    }
    managed = {"manager": "kubectl", "fieldsV1": {f"f:field-{number}": {} for number in range(90)}}
    job = {
        "metadata": {
            "name": "train",
            "namespace": "team",
            "labels": {"quotree.dev/group": "leaf-7"},
            "managedFields": [managed],
        },
        "spec": {"suspend": held, "parallelism": 2, "template": {"spec": {"containers": [container]}}},
    }
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "operation": "CREATE",
        "namespace": "team",
        "name": "train",
        "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
        "object": job,
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    text = json.dumps(whole, separators=(",", ":")).replace("&", "\\u0026").replace(">", "\\u003e")
    return text.encode() + b"\n"


def scene(groups: int) -> ReviewContext:
    """Return a tree of that many groups below one, with two flavors."""
    amounts = {"cpu": 10**6, "memory": 2**50, "nvidia.com/gpu": 1000}
    entries = (Entry("a100", min=amounts), Entry("t4", min=amounts))
    leaves = (Group(f"leaf-{number}", "all", quotas=entries) for number in range(groups))
    tree = Tree.of((Group("all", is_parent=True, quotas=entries), *leaves))
    flavors = {name: Flavor(name, {"gpu": name}) for name in ("a100", "t4")}
    return ReviewContext(WorkloadContext(tree, flavors), NamespaceContext({"team": "x"}), "reconciler")


def serve(groups: int, told: Connection, waiting: int = 400, cost: float = 0.0) -> None:
    """Serve until signalled to stop; then tell the CPU seconds used.

    `waiting`: how many reviews may wait. `cost`: for so many seconds of CPU more is computed for each.
    """
    uvloop.run(_serve(groups, told, waiting, cost))


async def _serve(groups: int, told: Connection, waiting: int, cost: float) -> None:
    now = datetime.now(UTC)
    authority = make_ca(timedelta(days=1), now)
    metrics = WebhookMetrics(CollectorRegistry())
    showcase = CertificateHolder(metrics)
    showcase.show(issue(authority, ("127.0.0.1",), timedelta(days=1), now))
    where = scene(groups)

    def over(answer: Callable[[Review, ReviewContext], Verdict]) -> Callable[[Review], Awaitable[Verdict]]:
        async def judged(review: Review) -> Verdict:
            until = time.process_time() + cost
            while time.process_time() < until:
                pass
            return answer(review, where)

        return judged

    routes = {
        "/mutate/jobs": Route("batch", "Job", over(partial(mutate, JOB))),
        "/validate/jobs": Route("batch", "Job", over(partial(judge, JOB))),
    }
    server = Server(Endpoints(routes, metrics, lambda: None), metrics, waiting)
    freeze_memory()
    async with server.listening("127.0.0.1", 0, showcase.listener()) as port:
        told.send((port, authority.certificate))
        began = time.process_time()
        await asyncio.to_thread(told.recv)
        told.send(time.process_time() - began)


async def ask(port: int, authority: bytes, connections: int, seconds: float) -> list[float]:
    """Send reviews on all connections for that long, and return the seconds of each response."""
    context = ssl.create_default_context(cadata=authority.decode())
    took: list[float] = []
    bodies = {"/mutate/jobs": review_body(held=False), "/validate/jobs": review_body(held=True)}
    headers = {"Content-Type": "application/json"}
    until = time.perf_counter() + seconds

    async def connection(session: aiohttp.ClientSession) -> None:
        while time.perf_counter() < until:
            for path, body in bodies.items():
                began = time.perf_counter()
                async with session.post(f"https://127.0.0.1:{port}{path}", data=body, headers=headers) as answer:
                    verdict: Any = json.loads(await answer.read())
                took.append(time.perf_counter() - began)
                if not verdict["response"]["allowed"]:
                    raise SystemExit(f"refused: {verdict}")

    connector = aiohttp.TCPConnector(ssl=context, limit=connections)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(connection(session) for _ in range(connections)))
    return took


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--groups", type=int, default=2000)
    options = parser.parse_args()
    print(f"review of {len(review_body(held=False))} bytes, tree of {options.groups} groups")
    for connections in options.connections:
        parent, child = multiprocessing.Pipe()
        server = multiprocessing.Process(target=serve, args=(options.groups, child))
        server.start()
        port, authority = parent.recv()
        took = sorted(uvloop.run(ask(port, authority, connections, options.seconds)))
        parent.send("stop")
        cpu = parent.recv()
        server.join()
        median, high = took[len(took) // 2], took[len(took) * 99 // 100]
        place = f"webhook_reviews.{connections}"
        record(
            Figure(f"{place}.rate", len(took) / cpu, "/s and core", at_least=300.0),
            Figure(f"{place}.p50", median * 1e3, "ms"),
            Figure(f"{place}.p99", high * 1e3, "ms", at_most=10.0),
        )
        print(
            f"{connections:3} connections: {len(took) / options.seconds:6.0f} reviews/s seen, "
            f"{len(took) / cpu:6.0f} reviews/s and core, {cpu / len(took) * 1e6:4.0f} µs CPU each, "
            f"p50 {median * 1e3:.2f} ms, p99 {high * 1e3:.2f} ms"
        )


if __name__ == "__main__":
    main()
