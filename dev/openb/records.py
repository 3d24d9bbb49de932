"""What the trace says: its nodes and pods, row by row, in the trace's own units."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One machine: cpu in millicores, memory in MiB, whole GPUs of one model."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


@dataclass(frozen=True, slots=True)
class PodRecord:
    """One pod: what it asked for, which GPU models it accepts (empty: any), its service class, times in seconds."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    models: frozenset[str]
    qos: str
    created: int
    deleted: int
    scheduled: int | None

    @property
    def ran_for(self) -> int:
        """Seconds from its scheduling to its end; from its creation where it was never scheduled."""
        return max(1, self.deleted - (self.created if self.scheduled is None else self.scheduled))


def read_nodes() -> Iterator[NodeRecord]:
    """Yield every node of the trace, in its order."""
    for row in _rows("openb_nodes.csv"):
        yield NodeRecord(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])


def read_pods() -> Iterator[PodRecord]:
    """Yield every pod of the trace, in its order.

    A part of a GPU counts as one: plain Kubernetes hands out whole devices.
    """
    for row in _rows("openb_pods.csv"):
        yield PodRecord(
            name=row["name"],
            cpu_milli=int(row["cpu_milli"]),
            memory_mib=int(row["memory_mib"]),
            gpus=int(row["num_gpu"]),
            models=frozenset(row["gpu_spec"].split("|")) - {""},
            qos=row["qos"],
            created=int(row["creation_time"]),
            deleted=int(row["deletion_time"]),
            scheduled=int(float(row["scheduled_time"])) if row["scheduled_time"] else None,
        )


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_DATA / name).open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)
