"""The Jobs that are created, and how many are created at once."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from shared.kube.client import Client
from shared.kube.resources import Resource


def job(
    name: str, labels: Mapping[str, str], requests: Mapping[str, str], *, suspended: bool = False, **template: Any
) -> dict[str, Any]:
    """Return a Job of one pod. `template`: what else its pod template says beside its spec."""
    container = {"name": "main", "image": "work", "resources": {"requests": dict(requests)}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            **({"suspend": True} if suspended else {}),
            "template": {**template, "spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


async def create_all(
    client: Client, resource: Resource, bodies: Iterable[dict[str, Any]], namespace: str | None, clients: int
) -> None:
    """Create them as fast as so many clients can, each with one request under way."""
    left = iter(bodies)

    async def create_some() -> None:
        for body in left:
            await client.create(resource, body, namespace)

    await asyncio.gather(*(create_some() for _ in range(clients)))
