"""What a descriptor costs per event: reading an object of a governed kind, beside reading a batch Job.

    python -m benchmarks.objects.kind_reading [--rounds 2000]

Each object has one pod template of the usual size for each of its pod sets, as the API server sends it. `read` makes a
typed view of the bytes, as a watch and a webhook do for each event; `workload` makes a workload of that view. The time
of a kind is also told by pod set, because a Job has one.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, Final

from benchmarks.results.figures import Figure, record
from shared.api.core.job import read_job
from shared.kinds.kind import Kind
from shared.kinds.presets import all_presets
from shared.kinds.reading import read_kind_object
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import workload_of_job
from shared.quota.model.read.kind_objects import workload_of_kind
from shared.quota.model.settings import QuotaSettings

AROUND: Final = NamespaceContext(namespace_labels={"quotree.dev/group": "leaf"})
SETTINGS: Final = QuotaSettings()


def template() -> dict[str, Any]:
    """Return a pod template of usual size."""
    container = {
        "name": "train",
        "image": "registry.example.com/team/train:1.2.3",
        "command": ["sh", "-c", "prepare && train > log"],
        "env": [{"name": f"SETTING_{number}", "value": "some value of some length"} for number in range(30)],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 1}},
    }
    return {
        "metadata": {"labels": {"app": "train"}},
        "spec": {"containers": [container], "nodeSelector": {"zone": "a"}},
    }


def written(**spec: Any) -> bytes:
    """Return an object with this spec, and the metadata that every object has."""
    managed = {"manager": "kubectl", "fieldsV1": {f"f:field-{number}": {} for number in range(90)}}
    labels = {"quotree.dev/group": "leaf"}
    metadata = {"name": "train", "namespace": "team", "uid": "u", "generation": 1, "labels": labels}
    return json.dumps({"metadata": metadata | {"managedFields": [managed]}, "spec": spec}).encode()


def samples() -> dict[str, bytes]:
    """Return an object of each kind, by the kind."""
    pods = template()
    replicas = {"replicas": 4, "template": pods}
    ray = {"headGroupSpec": {"template": pods}, "workerGroupSpecs": [{"groupName": "w", **replicas}]}
    return {
        "JobSet": written(
            suspend=True,
            replicatedJobs=[{"name": name, "replicas": 2, "template": {"spec": {"template": pods}}} for name in "ab"],
        ),
        "RayCluster": written(suspend=True, **ray),
        "RayJob": written(suspend=True, shutdownAfterJobFinishes=True, rayClusterSpec=ray),
        "PyTorchJob": written(
            runPolicy={"suspend": True}, pytorchReplicaSpecs={"Master": replicas, "Worker": replicas}
        ),
        "MPIJob": written(runPolicy={"suspend": True}, mpiReplicaSpecs={"Launcher": replicas, "Worker": replicas}),
    }


def cost(call: Callable[[], object], rounds: int) -> float:
    """Microseconds of a call: of the fastest of five runs, since whatever else runs on the machine only adds."""
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        for _ in range(rounds // 5):
            call()
        best = min(best, (time.process_time() - begin) / (rounds // 5))
    return best * 1e6


def row(name: str, sets: int, read: float, workload: float) -> str:
    """Return one line of the table."""
    place = f"kind_reading.{name}"
    record(
        Figure(f"{place}.read", read, "µs"),
        Figure(f"{place}.workload", workload, "µs"),
        Figure(f"{place}.pod-set", (read + workload) / sets, "µs"),
    )
    return f"{name:<12}{sets:>9}{read:>10.1f}{workload:>10.1f}{(read + workload) / sets:>13.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    rounds = parser.parse_args().rounds
    print("microseconds of one event")
    print(f"{'kind':<12}{'pod sets':>9}{'read':>10}{'workload':>10}{'per pod set':>13}")
    raw = written(suspend=True, parallelism=4, completions=4, template=template())
    job = read_job(raw)
    print(
        row("Job", 1, cost(lambda: read_job(raw), rounds), cost(lambda: workload_of_job(job, AROUND, SETTINGS), rounds))
    )
    for name, body in samples().items():
        kind = all_presets().named(name)
        if kind is None:
            raise SystemExit(f"there is no kind {name}")
        print(_of_kind(kind, body, rounds))


def _of_kind(kind: Kind, raw: bytes, rounds: int) -> str:
    seen = read_kind_object(kind, raw)
    if seen.problems or seen.refusals:
        raise SystemExit(f"{kind.kind}: {seen.problems} {seen.refusals}")
    read = cost(lambda: read_kind_object(kind, raw), rounds)
    workload = cost(lambda: workload_of_kind(seen, AROUND, SETTINGS), rounds)
    return row(kind.kind, len(seen.pod_sets), read, workload)


if __name__ == "__main__":
    main()
