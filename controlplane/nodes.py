"""Simulated nodes: what one says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
