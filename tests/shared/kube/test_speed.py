"""What listing costs in CPU time. An idle machine takes 0.4 s; the bar leaves room for a busy one."""

import gc
import time
from collections.abc import Iterator

import msgspec
import pytest

from shared.kube.watch.cache import Cache, State
from shared.kube.watch.memory import freeze_memory
from shared.kube.watch.stream import Lines, split_event

OBJECTS = 20_000
BAR = 1.5


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
    uid: str
    namespace: str
    name: str
    node: str


_decode = msgspec.json.Decoder(_Pod).decode


def project(raw: bytes) -> Record:
    pod = _decode(raw)
    return Record(pod.metadata.uid, pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)


def chunks() -> Iterator[bytes]:
    """A stream of pods of 6 KB each, as an API server with managedFields sends them, 300 to a read."""
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
    assert len(line) > 5500
    for start in range(0, OBJECTS, 300):
        names = range(start, min(start + 300, OBJECTS))
        yield b"".join(line.replace(b"NAME", b"pod-%d" % number) for number in names)


def test_twenty_thousand_pods_are_listed_within_the_bar() -> None:
    cache: Cache[Record] = Cache(project)
    lines, state, spent = Lines(), State[Record](), 0.0
    for chunk in chunks():
        started = time.process_time()
        for line in lines.feed(chunk):
            cache.gather(state, split_event(line)[1])
        spent += time.process_time() - started
    started = time.process_time()
    assert len(cache.replace(state)) == OBJECTS
    spent += time.process_time() - started
    assert spent < BAR, f"{spent / OBJECTS * 1e6:.0f} microseconds per object"


@pytest.fixture
def _collector_as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_collector_as_it_was")
def test_after_settling_a_full_collection_no_longer_looks_at_what_is_kept() -> None:
    kept = [{"a": [str(number)]} for number in range(300_000)]
    freeze_memory()
    started = time.process_time()
    gc.collect()
    assert time.process_time() - started < 0.1
    assert gc.get_threshold() == (50_000, 20, 100)
    assert len(kept) == 300_000
