"""Which part of the trace the demo runs: small machines of every GPU model, and pods that ask for GPUs."""

from collections.abc import Iterable
from typing import Final

from dev.openb.manifests import by_model
from dev.openb.records import NodeRecord, PodRecord, read_nodes, read_pods

_NODES: Final = {"P100": 18, "T4": 18, "V100M16": 8, "V100M32": 6, "G2": 7, "G3": 2, "A10": 2}
_SMALLEST: Final = 32_000
"""Millicores: smaller machines could hold no pod of the usual size."""
_SPACING: Final = 17
"""Every 17th pod: the trace is in blocks of the same kind of pod, so neighbours would all be alike."""


def nodes() -> list[NodeRecord]:
    """Of each model the machines with the fewest GPUs, so that the cluster is of many nodes and soon full."""
    large = (record for record in read_nodes() if record.cpu_milli >= _SMALLEST)
    return [
        record
        for model, records in sorted(by_model(large).items())
        for record in sorted(records, key=lambda each: (each.gpus, each.name))[: _NODES[model]]
    ]


def pods(count: int) -> list[PodRecord]:
    """`count` pods that ask for GPUs, spread over the whole trace; any node of a model they accept can hold them."""
    machines = nodes()
    asking = [record for record in read_pods() if record.gpus and _fits(record, machines)]
    chosen = [asking[index * _SPACING % len(asking)] for index in range(count)]
    return sorted(chosen, key=lambda record: record.name)


def _fits(pod: PodRecord, machines: Iterable[NodeRecord]) -> bool:
    return all(
        pod.gpus <= node.gpus and pod.cpu_milli <= node.cpu_milli and pod.memory_mib <= node.memory_mib
        for node in machines
        if not pod.models or node.model in pod.models
    )
