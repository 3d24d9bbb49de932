"""kube-scheduler stops pods of a higher PriorityClass' victims: their owner is told that Quotree has not."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.api.names import GATE, GROUP_LABEL
from tests.reconciler.conftest import CPUS
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
REASON = "PreemptedByScheduler"


@pytest.fixture
def classes(q: Quotree) -> Iterator[Quotree]:
    """A low and a high PriorityClass."""
    for name, value in (("low", -10), ("high", 1000)):
        q.create(CLASSES, {"metadata": {"name": name}, "value": value})
    yield q
    for name in ("low", "high"):
        q.delete(f"{CLASSES}/{name}")


def pod(name: str, cpu: int, priority_class: str, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
    spec = {"priorityClassName": priority_class, "containers": [container]}
    return {"metadata": {"name": name, **more}, "spec": spec}


def history(q: Quotree) -> set[tuple[str, str, str]]:
    command = [str(Path(sys.executable).parent / "quotree"), "history", "-n", "default", "-o", "json"]
    environment = {**os.environ, "KUBECONFIG": str(q.control_plane.kubeconfig)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return {(each["workload"], each["group"], each["reason"]) for each in json.loads(done.stdout)["items"]}


def test_pods_that_kube_scheduler_preempts_are_reported_as_such(classes: Quotree) -> None:
    q, eighth = classes, CPUS // 8
    q.lead()
    q.group("vision", quotas=[quota(min=str(CPUS))])
    q.job("low", "vision", str(2 * eighth), pods=3, pod={"priorityClassName": "low"})
    alone = pod("alone", 2 * eighth, "low", labels={GROUP_LABEL: "vision"})
    alone["spec"]["schedulingGates"] = [{"name": GATE}]
    q.create(PODS, alone)
    wait_for(lambda: len(q.pods_on_nodes("low")) == 3, "the Job runs", LONG)
    wait_for(lambda: q.get(f"{PODS}/alone")["spec"].get("nodeName"), "the pod runs", LONG)
    q.create(PODS, pod("above", CPUS, "high"))
    wait_for(lambda: q.get(f"{PODS}/above")["spec"].get("nodeName"), "it has the node for itself", LONG)
    for name in ("low", "alone"):
        note = wait_for(lambda name=name: dict(q.events(name)).get(REASON), f"{name} is told", LONG)  # type: ignore[misc]
        assert note is not None
        assert note.startswith("kube-scheduler, not Quotree, stops ")
    counter = "quotree_pods_preempted_by_scheduler_total"
    wait_for(lambda: q.metric(counter) == 4, "all four pods are counted", LONG)
    assert any(line.startswith(f'{counter}{{group="vision"}}') for line in q.metrics())
    wait_for(lambda: ("default/low", "vision", REASON) in history(q), "the history lists it", LONG)
    assert q.running() == {"low"}
