"""The history joins what annotations and events say of an eviction, and lists each once."""

import json
import os
import subprocess
import sys
from typing import Any

import msgspec
from click.testing import CliRunner

from cli.__main__ import quotree
from cli.read.cluster.evictions import NewEvictions, _Event, _Metadata, join_evictions
from dev.controlplane.cluster import ControlPlane
from tests.cli.live.live_kinds import install_kinds

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


def test_what_kube_scheduler_stopped_is_listed_beside_an_eviction_of_the_same_moment() -> None:
    victim = metadata("loser", "u1", {"quotree.dev/eviction": EVICTION}, group="lent")
    preempted = event("loser", "u1", "2026-01-01T00:00:01Z", reason="PreemptedByScheduler", action="Preempt")
    found = join_evictions({"Job": [victim], "Pod": []}, [preempted])
    assert [(each["reason"], each["group"]) for each in found] == [
        ("PreemptedByScheduler", "lent"),
        ("Reclaimed", "lent"),
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


def test_each_eviction_is_new_once_also_when_its_object_goes() -> None:
    def written(workload: str, at: str, source: str) -> dict[str, Any]:
        return {"workload": workload, "at": f"2026-01-01T{at}+00:00", "source": source}

    first, later = written("ns/a", "00:00:00", "annotation"), written("ns/a", "00:05:00", "annotation")
    other = written("ns/b", "00:00:00", "annotation")
    reads = iter([[other, first], [other, first], [later, written("ns/a", "00:00:01", "event")]])
    news = NewEvictions(lambda: next(reads))
    assert [news(), news(), news()] == [[first, other], [], [later]]


def job(name: str, evicted: str = "") -> str:
    eviction = EVICTION.replace("2026-01-01T00:00:00Z", evicted)
    annotations = {"quotree.dev/eviction": eviction} if evicted else {}
    pods = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": "history", "annotations": annotations},
            "spec": {"suspend": True, "template": {"spec": pods}},
        }
    )


def test_watch_prints_each_further_eviction(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    control_plane.kubectl("create", "namespace", "history")
    control_plane.kubectl("apply", "-f", "-", input=job("first", "2026-01-01T00:00:00Z"))
    columns = "--output=custom-columns=WORKLOAD:.workload,AT:.at"
    line = [sys.executable, "-m", "cli", "history", "-n", "history", "-w", columns]
    path = f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(control_plane.kubeconfig)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as watching:
        assert watching.stdout is not None
        read = (" ".join(each.split()) for each in watching.stdout)
        try:
            assert [next(read), next(read)] == ["WORKLOAD AT", "history/first 2026-01-01T00:00:00Z"]
            control_plane.kubectl("apply", "-f", "-", input=job("second"))
            control_plane.kubectl("apply", "-f", "-", input=job("first", "2026-01-01T00:05:00Z"))
            assert next(read) == "history/first 2026-01-01T00:05:00Z"
        finally:
            watching.terminate()


def history(control_plane: ControlPlane, *words: str) -> list[str]:
    """Return the lines of the command."""
    runner = CliRunner(env={"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"})
    answer = runner.invoke(quotree, ["history", *words, f"--kubeconfig={control_plane.kubeconfig}"])
    assert answer.exit_code == 0, answer.exception
    return [" ".join(each.split()) for each in answer.output.splitlines()]


def test_history_of_a_job_has_the_message_of_each_eviction(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    control_plane.kubectl("create", "namespace", "one-job")
    for each in (job("evicted", "2026-01-01T00:00:00Z"), job("never")):
        control_plane.kubectl("apply", "-f", "-", input=each.replace('"history"', '"one-job"'))
    found = history(control_plane, "one-job/evicted")
    assert found[0].split()[:2] == ["TIME", "WORKLOAD"]
    assert (len(found), found[2:]) == (4, ["", "2026-01-01T00:00:00Z: m"])
    assert history(control_plane, "evicted", "-n", "one-job") == found
    (nothing, _) = history(control_plane, "never", "-n", "one-job")
    assert nothing.startswith("quotree: no eviction of workload one-job/never is known")


def test_history_of_an_unknown_group_is_refused(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    runner = CliRunner(env={"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"})
    refused = [
        str(runner.invoke(quotree, [command, "nope", f"--kubeconfig={control_plane.kubeconfig}"]).exception)
        for command in ("history", "tree")
    ]
    # Other tests may have left groups on this control plane: then the message lists them.
    assert [each.partition(";")[0] for each in refused] == ["there is no QuotaGroup 'nope'"] * 2
