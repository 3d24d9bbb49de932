"""The commands of the page on moving from Kueue, as they are written, with the real Kueue: to Quotree and back.

Jobs run and wait all the time. A watch records every pod, so that "never" and "at no moment" mean each event of it.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.starting import kueue, kueue_program
from dev.controlplane import cluster
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.processes import Process
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import CHART, Quotree, installed, wait_for_authority
from dev.controlplane.quotree import NAMESPACE as QUOTREE_NAMESPACE
from tests.project.repository import ROOT
from tests.reconciler.reconciler_process import MERGE, job_manifest, wait_for

# Kueue is built first where it is not yet.
pytestmark = pytest.mark.timeout(900)
PAGE = "docs/guides/from-kueue.md"
STEP = re.compile(r"^( *)```shell\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
MANAGER = "kueue-controller-manager"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{kueue.NAMESPACE}/deployments/{MANAGER}"
PODS_OF_KUEUE = f"/api/v1/namespaces/{kueue.NAMESPACE}/pods"
ROOM = {"team-a": 4, "team-b": 2}
LONG = 120.0


def steps(heading: str) -> list[str]:
    """The blocks of commands of a section of the page."""
    section = (ROOT / PAGE).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [textwrap.dedent(text) for _, text in STEP.findall(section)]


@dataclass(slots=True)
class Walk:
    """A cluster in which the commands are run; what its Deployment and its releases run are processes of this host."""

    cluster: cluster.ControlPlane
    kueue: Process
    folder: Path
    releases: ExitStack
    quotree: list[Quotree] = field(default_factory=list)

    def run(self, step: str) -> None:
        """Run one block of the page."""
        waiting: list[str] = []
        for line in (*step.splitlines(), ""):
            if line and not line.startswith("helm "):
                waiting.append(line)
                continue
            if waiting:
                self._shell("\n".join(waiting))
                waiting = []
            if line:
                self._helm(line)

    def _shell(self, script: str) -> None:
        commands = f"{Path(sys.executable).parent}:{self.cluster.binaries.kubectl.parent}"
        environment = {
            **os.environ,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "KUBECONFIG": str(self.cluster.kubeconfig),
        }
        shell = ["bash", "-euo", "pipefail", "-c", script]
        log = self.folder / "shell.log"
        with log.open("w") as output:
            running = subprocess.Popen(shell, cwd=self.folder, env=environment, stdout=output, stderr=output)
            while running.poll() is None:
                self.follow_deployment()
                time.sleep(0.1)
        assert running.returncode == 0, f"{script}\n{log.read_text()}"

    def _helm(self, line: str) -> None:
        verb, values = line.split()[1], self.folder / "values.yaml"
        if verb == "install":
            self.quotree.append(self.releases.enter_context(installed(self.cluster)))
        elif verb == "upgrade":
            words = ("--namespace", QUOTREE_NAMESPACE, "--reuse-values", "--values", str(values))
            self.cluster.helm("upgrade", "quotree", str(CHART), *words)
            written = yaml.safe_load(values.read_text())
            dialects = {"systems": written["dialects"], "queueGroups": written["queueGroups"]}
            (quotree,) = self.quotree
            quotree.webhooks[0].stop()
            quotree.add_webhook(listen=quotree.webhook_ports[0], dialects=dialects)
            wait_for_authority(self.cluster)
        else:
            self.cluster.helm(*line.split()[1:])
            self.releases.close()

    def follow_deployment(self) -> None:
        """Run Kueue while its Deployment has a replica, with a pod that stands for it."""
        _, found = self.cluster.rest.request("GET", DEPLOYMENT)
        wanted = found["spec"]["replicas"]
        if bool(wanted) != self.kueue.running:
            if wanted:
                self.kueue.start()
                self.cluster.rest.request("POST", PODS_OF_KUEUE, MANAGER_POD)
            else:
                self.kueue.stop()
                self.cluster.rest.request("DELETE", f"{PODS_OF_KUEUE}/{MANAGER}?gracePeriodSeconds=0")
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        status = {**dict.fromkeys(names, wanted), "observedGeneration": found["metadata"]["generation"]}
        if any(found.get("status", {}).get(name, 0) != value for name, value in status.items()):
            self.cluster.rest.request("PATCH", f"{DEPLOYMENT}/status", {"status": status}, MERGE)

    def submit(self, namespace: str, name: str, *, suspend: bool = True) -> None:
        """Create a Job of 2 cpu as its owner always does: with the queue's label alone.

        Kueue says that it is ready some seconds before its webhooks answer.
        """
        body = job_manifest(name, None, "2", labels={"kueue.x-k8s.io/queue-name": "main"}, suspend=suspend)
        words = ("create", "-n", namespace, "-f", "-")
        wait_for(
            lambda: self.cluster.kubectl(*words, input=yaml.safe_dump(body), check=False).returncode == 0,
            f"{name} is created",
            LONG,
        )

    def running(self) -> list[str]:
        """The Jobs that are not suspended and not over."""
        found = self.cluster.get("jobs", "--all-namespaces")["items"]
        return sorted(
            each["metadata"]["name"]
            for each in found
            if not each["spec"].get("suspend") and not each["status"].get("completionTime")
        )

    def end(self, namespace: str, job: str) -> None:
        """Let a Job's pod complete."""
        selector = f"batch.kubernetes.io/job-name={job}"
        self.cluster.kubectl("annotate", "pods", "-n", namespace, "-l", selector, "demo.quotree.dev/run-for=0s")


MANAGER_POD = {
    "metadata": {"name": MANAGER, "labels": {"control-plane": "controller-manager"}},
    "spec": {"schedulingGates": [{"name": "example.com/none"}], "containers": [{"name": "main", "image": "none"}]},
}
MANAGER_DEPLOYMENT = {
    "metadata": {"name": MANAGER},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": MANAGER_POD["metadata"]["labels"]},  # type: ignore[index]
        "template": MANAGER_POD,
    },
}


def queues() -> Iterator[dict[str, Any]]:
    """Two queues of one name, in two namespaces; one with a flavor of certain nodes."""
    for namespace, queue, flavor, labels in (("team-a", "vision", "any", {}), ("team-b", "nlp", "t4", {"model": "t4"})):
        quota = {"name": "cpu", "nominalQuota": ROOM[namespace]}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [quota]}]}]
        yield kueue_object("ResourceFlavor", flavor, {"nodeLabels": labels})
        yield kueue_object("ClusterQueue", queue, {"namespaceSelector": {}, "resourceGroups": groups})
        yield kueue_object("LocalQueue", "main", {"clusterQueue": queue}, namespace=namespace)


def kueue_object(kind: str, name: str, spec: dict[str, Any], **metadata: str) -> dict[str, Any]:
    return {"apiVersion": kueue.API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


@pytest.fixture
def walk(control_plane_binaries: Binaries, tmp_path: Path) -> Iterator[Walk]:
    """Kueue as in a cluster of someone who uses it."""
    try:
        kueue_program.ensure(print)
    except ControlPlaneError as error:
        pytest.skip(f"!!! SKIPPED: no Kueue to move from: {error}")
    room = {"memory": "64Gi", "pods": "100"}
    nodes = (
        NodeSpec("any-0", allocatable={"cpu": "8", **room}),
        NodeSpec("t4-0", labels={"model": "t4"}, allocatable={"cpu": "8", **room}),
    )
    with (
        cluster.start(control_plane_binaries, nodes=nodes) as started,
        kueue.manager(started) as process,
        ExitStack() as releases,
    ):
        for namespace in ROOM:
            started.kubectl("create", "namespace", namespace)
        started.rest.request("POST", DEPLOYMENT.rpartition("/")[0], MANAGER_DEPLOYMENT)
        started.rest.request("POST", PODS_OF_KUEUE, MANAGER_POD)
        kueue.apply_once_it_listens(started, yaml.safe_dump_all(queues()))
        yield Walk(started, process, tmp_path, releases)
        # Shown when the test has failed.
        print(started.kubectl("get", "jobs,pods,quotagroups,workloads.kueue.x-k8s.io", "-A", check=False).stdout)


@pytest.fixture
def recorded(walk: Walk) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Every event of every pod since then."""
    file = walk.folder / "pods.json"
    words = ("get", "pods", "--all-namespaces", "--watch", "--output-watch-events", "-o", "json")
    command = [str(walk.cluster.binaries.kubectl), f"--kubeconfig={walk.cluster.kubeconfig}", *words]
    with file.open("w") as output, subprocess.Popen(command, stdout=output) as watching:
        yield lambda: read_stream(file.read_text())
        watching.terminate()


def read_stream(text: str) -> list[dict[str, Any]]:
    """Return the documents of a stream of JSON, without a last one that is not whole yet."""
    found: list[dict[str, Any]] = []
    at, decoder = 0, json.JSONDecoder()
    while True:
        try:
            document, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        except json.JSONDecodeError:
            return found
        found.append(document)


def test_cluster_moves_to_quotree_and_back_with_jobs_running_and_waiting(
    walk: Walk, recorded: Callable[[], list[dict[str, Any]]]
) -> None:
    for name in ("a-1", "a-2", "b-1"):
        walk.submit(f"team-{name[0]}", name)
    wait_for(lambda: walk.running() == ["a-1", "a-2", "b-1"], "Kueue runs what fits", LONG)
    for name in ("a-3", "a-4", "b-2"):
        walk.submit(f"team-{name[0]}", name)

    convert, install, hold, stop, label, start, clean = steps("To Quotree")
    for step in (convert, install, hold):
        walk.run(step)
    walk.submit("team-a", "a-5", suspend=False)
    for step in (stop, label):
        walk.run(step)
    wait_for(lambda: [admitted(walk, each) for each in ("vision", "nlp")] == [2, 1], "what runs is adopted", LONG)
    for step in (start, clean):
        walk.run(step)
    walk.end("team-a", "a-1")
    wait_for(lambda: walk.running() == ["a-2", "a-5", "b-1"], "Quotree starts the next", LONG)
    walk.submit("team-a", "a-6", suspend=False)

    admit, begin, uninstall, release = steps("And back")
    for step in (admit, begin):
        walk.run(step)
    walk.submit("team-a", "a-7", suspend=False)
    for step in (uninstall, release):
        walk.run(step)
    left = {"team-a": ["a-2", "a-3", "a-4", "a-5", "a-6", "a-7"], "team-b": ["b-1", "b-2"]}
    for namespace, jobs in left.items():
        finish(walk, namespace, jobs)
    wait_for(lambda: len(ended_pods(recorded())) == 9, "the watch has seen all pods end", LONG)
    check_quota(recorded())


def admitted(walk: Walk, group: str) -> int:
    """How many workloads of the group its status says are admitted."""
    _, found = walk.cluster.rest.request("GET", f"/apis/quotree.dev/v1alpha1/quotagroups/{group}")
    return int(found.get("status", {}).get("workloads", {}).get("admitted", 0))


def finish(walk: Walk, namespace: str, jobs: Sequence[str]) -> None:
    """Let the Jobs complete that run until all of these are over: those that wait are started by Kueue."""

    def is_over() -> bool:
        for each in set(walk.running()) & set(jobs):
            walk.end(namespace, each)
        found = walk.cluster.get("jobs", "-n", namespace)["items"]
        over = {each["metadata"]["name"] for each in found if each["status"].get("completionTime")}
        return over >= set(jobs)

    wait_for(is_over, f"all of {namespace} have run", LONG, every=0.5)


def ended_pods(events: Sequence[dict[str, Any]]) -> set[str]:
    return {
        each["object"]["metadata"]["uid"] for each in events if each["object"]["status"].get("phase") == "Succeeded"
    }


def check_quota(events: Sequence[dict[str, Any]]) -> None:
    """Each Job had one pod, and after each event the pods of a namespace that had not ended fit its quota."""
    made: dict[str, set[str]] = defaultdict(set)
    alive: dict[str, str] = {}
    for event in events:
        pod, metadata = event["object"], event["object"]["metadata"]
        if metadata["namespace"] not in ROOM:
            continue
        made[metadata["labels"]["batch.kubernetes.io/job-name"]].add(metadata["uid"])
        alive[metadata["uid"]] = metadata["namespace"]
        if event["type"] == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed"):
            del alive[metadata["uid"]]
        for namespace, room in ROOM.items():
            assert 2 * list(alive.values()).count(namespace) <= room, (namespace, metadata["name"])
    assert {job: len(pods) for job, pods in made.items()} == dict.fromkeys(
        ("a-1", "a-2", "a-3", "a-4", "a-5", "a-6", "a-7", "b-1", "b-2"), 1
    )
