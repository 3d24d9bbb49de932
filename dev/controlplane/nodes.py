"""Simulated nodes: what one says of itself, and how they get into the cluster."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.rest import Rest

POLL = 0.1
READY = {"type": "Ready", "status": "True"}

DEFAULT_ALLOCATABLE = {"cpu": "32", "memory": "256Gi", "pods": "110"}


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node; quantities are Kubernetes text (`{"cpu": "64", "nvidia.com/gpu": "8"}`), `pods` is 110 when absent."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_ALLOCATABLE))

    def manifest(self) -> dict[str, Any]:
        quantities = {"pods": DEFAULT_ALLOCATABLE["pods"], **self.allocatable}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name, **self.labels}},
            "spec": {
                "taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in self.taints]
            },
            "status": {"allocatable": quantities, "capacity": quantities},
        }


def create_nodes(rest: Rest, nodes: Sequence[NodeSpec]) -> None:
    """Raises ControlPlaneError with the server's words when one is refused."""
    for node in nodes:
        status, answer = rest.request("POST", "/api/v1/nodes", node.manifest())
        if status >= 300:
            raise ControlPlaneError(f"node {node.name!r} was refused with {status}: {answer['message']}")


def wait_until_nodes_are_ready(rest: Rest, names: set[str], timeout: float) -> None:
    """Raises ControlPlaneError when after `timeout` seconds one still is not Ready."""
    deadline = time.monotonic() + timeout
    while missing := names - _ready_nodes(rest):
        if time.monotonic() > deadline:
            raise ControlPlaneError(
                f"{len(missing)} of {len(names)} nodes were not Ready after {timeout:.0f} s, {min(missing)!r} for one: "
                "see kwok.log in the control plane's folder"
            )
        time.sleep(POLL)


def _ready_nodes(rest: Rest) -> set[str]:
    _, listed = rest.request("GET", "/api/v1/nodes")
    return {
        node["metadata"]["name"]
        for node in listed["items"]
        if any(READY.items() <= condition.items() for condition in node["status"].get("conditions", ()))
    }
