"""What a first list costs a watch in CPU time: splitting the stream, finding each object's identity, projecting it.

    python -m benchmarks.objects.listing [--objects 20000]

Pods of 6 KB each, as an API server with managedFields sends them.
"""

import argparse
import time
from collections.abc import Iterator

import msgspec

from benchmarks.results.figures import Figure, record
from shared.kube.watch.cache import Cache, State
from shared.kube.watch.stream import Lines, split_event


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str
    uid: str


class _Container(msgspec.Struct, gc=False):
    resources: dict[str, dict[str, str]] = {}


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    containers: list[_Container] = []


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class Record(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a pod."""

    uid: str
    namespace: str
    name: str
    node: str


_decode = msgspec.json.Decoder(_Pod).decode


def project(raw: bytes) -> Record:
    """Return the pod as it is kept."""
    pod = _decode(raw)
    return Record(pod.metadata.uid, pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)


def chunks(objects: int) -> Iterator[bytes]:
    """Yield the stream, 300 pods to a read."""
    fields: dict[str, object] = {f"f:field{n}": {".": {}, "f:sub": {"f:x": {}, "f:y": {}}} for n in range(70)}
    manager = {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": fields}
    metadata = {
        "name": "NAME",
        "namespace": "team-a",
        "uid": "NAME",
        "resourceVersion": "1",
        "managedFields": [manager],
    }
    environment = [{"name": f"E{n}", "value": "v" * 20} for n in range(40)]
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}, "env": environment}
    pod = {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n", "containers": [container]}, "status": {}}
    line = msgspec.json.encode({"type": "ADDED", "object": pod}) + b"\n"
    for start in range(0, objects, 300):
        names = range(start, min(start + 300, objects))
        yield b"".join(line.replace(b"NAME", b"pod-%d" % number) for number in names)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    objects = parser.parse_args().objects
    cache: Cache[Record] = Cache(project)
    lines, state, spent = Lines(), State[Record](), 0.0
    for chunk in chunks(objects):
        started = time.process_time()
        for line in lines.feed(chunk):
            cache.gather(state, split_event(line)[1])
        spent += time.process_time() - started
    started = time.process_time()
    found = len(cache.replace(state))
    spent += time.process_time() - started
    record(Figure("listing.pod", spent / found * 1e6, "µs"))
    print(f"{found} pods: {spent:.2f} s of CPU, {spent / found * 1e6:.0f} us each")


if __name__ == "__main__":
    main()
