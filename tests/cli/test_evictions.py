"""The history joins what annotations and events say of an eviction, and lists each once."""

import os
from typing import Any

import msgspec
from click.testing import CliRunner

from cli.__main__ import quotree
from cli.read.cluster.evictions import _Event, _Metadata, join_evictions
from dev.controlplane.cluster import ControlPlane
from tests.cli.live_kinds import install_kinds

EVICTION = (
    '{"flavors":{"cpu":"spot"},"for":{"group":"owed","uid":"taker"},"message":"m","reason":"Reclaimed",'
    '"request":{"cpu":"4"},"rule":"Reclaim","time":"2026-01-01T00:00:00Z","times":3}'
)


def metadata(name: str, uid: str, annotations: dict[str, str] | None = None, **labels: str) -> _Metadata:
    written = {f"quotree.dev/{key.replace('_', '-')}": value for key, value in labels.items()}
    return _Metadata(name, "ns", uid, written, annotations or {})


def event(name: str, uid: str, at: str, **fields: Any) -> _Event:
    about = {"kind": "Job", "name": name, "namespace": "ns", "uid": uid}
    data = {"eventTime": at, "reason": "Reclaimed", "action": "Evict", "note": "n", "regarding": about, **fields}
    return msgspec.convert(data, type=_Event)


def test_eviction_names_preemptor_victim_and_resources() -> None:
    victim = metadata("loser", "u1", {"quotree.dev/eviction": EVICTION}, group="lent")
    found = join_evictions({"Job": [victim, metadata("winner", "taker")], "Pod": []}, [])
    assert found == [
        {
            "at": "2026-01-01T00:00:00+00:00",
            "workload": "ns/loser",
            "kind": "Job",
            "group": "lent",
            "reason": "Reclaimed",
            "rule": "Reclaim",
            "for": "ns/winner",
            "forGroup": "owed",
            "flavors": ["spot"],
            "request": {"cpu": "4"},
            "times": 3,
            "message": "m",
            "source": "annotation",
        }
    ]


def test_event_of_a_recorded_eviction_is_not_listed_twice() -> None:
    victim = metadata("loser", "u1", {"quotree.dev/eviction": EVICTION}, group="lent")
    events = [
        event("loser", "u1", "2026-01-01T00:00:01Z"),
        event("loser", "u1", "2025-12-31T23:30:00Z"),
        event("gone", "u9", "2026-01-01T00:10:00Z"),
    ]
    found = join_evictions({"Job": [victim], "Pod": []}, events)
    assert [(each["workload"], each["source"], each["at"][:16]) for each in found] == [
        ("ns/gone", "event", "2026-01-01T00:10"),
        ("ns/loser", "annotation", "2026-01-01T00:00"),
        ("ns/loser", "event", "2025-12-31T23:30"),
    ]


def test_pods_of_a_pod_group_are_listed_as_one_eviction() -> None:
    pods = [
        metadata(f"ring-{number}", f"p{number}", {"quotree.dev/eviction": EVICTION}, pod_group="ring", group="lent")
        for number in range(3)
    ]
    (found,) = join_evictions({"Job": [], "Pod": pods}, [])
    assert (found["workload"], found["kind"]) == ("ns/ring", "PodGroup")


def test_history_of_an_unknown_group_is_refused(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    runner = CliRunner(env={"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"})
    refused = [
        str(runner.invoke(quotree, [command, "nope", f"--kubeconfig={control_plane.kubeconfig}"]).exception)
        for command in ("history", "tree")
    ]
    assert refused == ["there is no QuotaGroup 'nope'; `kubectl get quotagroups` lists those that exist"] * 2
