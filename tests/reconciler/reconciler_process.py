"""A reconciler process beside a real control plane, and words to say what a test does with both."""

import re
import subprocess
import urllib.request
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from dev.controlplane.cluster import ControlPlane
from shared.api.names import ADMISSION, API_VERSION, EVICTION, GROUP_LABEL
from tests.metric_sums import sum_of
from tests.polling import first_true
from tests.preloaded import Fork, Preloaded, launched
from tests.versions import definitions

T = TypeVar("T")
NAMESPACE = "quotree-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
JSON = "application/json"
MERGE = "application/merge-patch+json"


@dataclass(slots=True)
class Quotree:
    """A control plane with Quotree's kinds, and the reconciler that a test starts, kills and starts again."""

    control_plane: ControlPlane
    folder: Path
    kubeconfig: Path | None = None
    lease_seconds: int = 30
    """How long the Lease is held. A test that kills a leader wants it short; a loaded machine does not."""
    election: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the election."""
    recording: Path | None = None
    """The folder that leaders record to."""
    accounts: Mapping[str, Any] = field(default_factory=dict)
    """Settings of accounts."""
    module: str = "reconciler"
    """What is started."""
    runs: int = 0
    process: subprocess.Popen[bytes] | Fork | None = None
    preloaded: Preloaded | None = None
    """What reconcilers are forked from; without it each is started for itself."""

    def install(self) -> None:
        """The kinds, and the namespace of the Lease."""
        for definition in definitions(self.control_plane):
            self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        self.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for plural in ("quotagroups", "resourceflavors"):
            wait_for(partial(self._is_served, f"/apis/{API_VERSION}/{plural}"), "its kind")

    def _is_served(self, path: str) -> bool:
        return self.control_plane.rest.request("GET", path)[0] == 200

    def clear(self, keep: Collection[str]) -> None:
        """Take away everything that a test has made; of nodes, all but those to keep."""
        self.kill()
        for path in (
            "/apis/batch/v1/namespaces/default/jobs",
            "/api/v1/namespaces/default/pods",
            "/api/v1/namespaces/default/limitranges",
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            f"/apis/{API_VERSION}/quotagroups",
            f"/apis/{API_VERSION}/resourceflavors",
            LEASES,
            "/apis/events.k8s.io/v1/namespaces/default/events",
        ):
            wait_for(lambda path=path: self._is_emptied(path), f"{path} is empty", 120, every=0.2)  # type: ignore[misc]
        self._clear_other_namespaces()
        # Last: pods on a node that is gone would be ended by nobody.
        for node in self.get("/api/v1/nodes")["items"]:
            if node["metadata"]["name"] not in keep:
                self.delete(f"/api/v1/nodes/{node['metadata']['name']}")

    def _clear_other_namespaces(self) -> None:
        """Delete the namespaces that the test has made; what runs in one of its name would count for the next test."""
        others = self._other_namespaces()
        for name in others:
            for path in (f"/apis/batch/v1/namespaces/{name}/jobs", f"/api/v1/namespaces/{name}/pods"):
                wait_for(lambda path=path: self._is_emptied(path), f"{path} is empty", 120, every=0.2)  # type: ignore[misc]
            self.delete(f"/api/v1/namespaces/{name}")
        wait_for(lambda: not self._other_namespaces(), f"{others} are gone: the next test may make them again", 120)

    def _other_namespaces(self) -> list[str]:
        names = [each["metadata"]["name"] for each in self.get("/api/v1/namespaces")["items"]]
        return [name for name in names if name not in ("default", NAMESPACE) and not name.startswith("kube-")]

    def _is_emptied(self, path: str) -> bool:
        """Delete all there, at once whatever it says about its end; whether nothing is left."""
        self.delete(path, {"gracePeriodSeconds": 0} if path.endswith("/pods") else {})
        return not self.get(path)["items"]

    def say(self) -> str:
        """The ends of all logs and what pods there are, for a test that fails: one that an earlier test left counts."""
        logs = [self.folder / f"reconciler-{run}.log" for run in range(1, self.runs + 1)]
        found = [f"--- {each.name}\n{each.read_text()[-6000:]}" for each in logs]
        with suppress(Exception):
            named = (each["metadata"] for each in self.get("/api/v1/pods")["items"])
            found.append("pods: " + " ".join(f"{each['namespace']}/{each['name']}" for each in named)[:2000])
        return "\n".join(found)

    def start(self, **quota: Any) -> None:
        """Start a reconciler, with a fresh log; returns at once."""
        self.runs += 1
        settings = {
            "quota": quota,
            "connection": {"kubeconfig": str(self.kubeconfig or self.control_plane.kubeconfig)},
            "leaderElection": {
                "namespace": NAMESPACE,
                "leaseDuration": f"{self.lease_seconds}s",
                "renewDeadline": f"{self.lease_seconds * 2 // 3}s",
                "retryPeriod": "1s",
                **self.election,
            },
            "health": {"host": "127.0.0.1", "port": 0},
            "log": {"level": "info", "form": "text"},
        }
        if self.accounts:
            settings["accounts"] = dict(self.accounts)
        if self.recording is not None:
            settings["recording"] = {"enabled": True, "folder": str(self.recording)}
        config = self.folder / f"reconciler-{self.runs}.yaml"
        config.write_text(yaml.safe_dump(settings))
        self.process = launched(self.module, config, self.log, self.preloaded)

    def lead(self, **quota: Any) -> None:
        """Start a reconciler and wait until it decides."""
        self.start(**quota)
        wait_for(lambda: self.condition("root", "Active"), "the reconciler leads", 120)

    @property
    def log(self) -> Path:
        """What the latest reconciler says."""
        return self.folder / f"reconciler-{self.runs}.log"

    def metrics(self) -> list[str]:
        """The lines of the latest reconciler's metrics."""
        port = re.search(r"health_port=(\d+)", self.log.read_text())
        if port is None:
            raise ConnectionError("it serves no metrics yet")
        with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/metrics", timeout=60) as answer:
            return list(answer.read().decode().splitlines())

    def metric(self, name: str) -> float:
        """The sum of a metric's samples in the latest reconciler."""
        return sum_of("\n".join(self.metrics()), name)

    def kill(self) -> None:
        """SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)
            self.process = None

    def release(self) -> None:
        """Take the Lease from a reconciler that was killed: the next one need not wait until it has run out."""
        self.delete(LEASES)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.process is None:
            return 0
        self.process.terminate()
        code = self.process.wait(90)
        self.process = None
        return code

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST; the object as stored."""
        status, answer = self.control_plane.rest.request("POST", path, body=body, content_type=JSON)
        assert status == 201, answer
        return dict(answer)

    def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """PATCH, as merge patch."""
        status, answer = self.control_plane.rest.request("PATCH", path, body=body, content_type=MERGE)
        assert status == 200, answer
        return dict(answer)

    def delete(self, path: str, options: Mapping[str, Any] | None = None) -> None:
        """DELETE, in the background."""
        body = {"propagationPolicy": "Background", **(options or {})}
        status, answer = self.control_plane.rest.request("DELETE", path, body=body, content_type=JSON)
        assert status in (200, 202), answer

    def get(self, path: str) -> dict[str, Any]:
        """GET."""
        status, answer = self.control_plane.rest.request("GET", path)
        assert status == 200, answer
        return dict(answer)

    def group(self, name: str, **spec: Any) -> None:
        """Create a QuotaGroup, or change the spec of one."""
        path = f"/apis/{API_VERSION}/quotagroups"
        if self.control_plane.rest.request("GET", f"{path}/{name}")[0] == 200:
            self.merge(f"{path}/{name}", {"spec": spec})
        else:
            body = {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}
            self.create(path, body)

    def group_status(self, name: str) -> dict[str, Any]:
        """A group's status."""
        return dict(self.get(f"/apis/{API_VERSION}/quotagroups/{name}").get("status", {}))

    def workload_counts(self, name: str) -> dict[str, Any]:
        """How many workloads of the group are pending, admitted and ready; empty before they are counted."""
        counts: dict[str, Any] = self.group_status(name).get("workloads", {})
        return {word: number for word, number in counts.items() if word != "waiting"}

    def known(self, group: str) -> None:
        """Wait until the status shows the group's latest spec: groups and workloads are watched independently."""
        path = f"/apis/{API_VERSION}/quotagroups/{group}"
        generation = self.get(path)["metadata"]["generation"]
        wait_for(
            lambda: self.group_status(group).get("observedGeneration", 0) >= generation, f"{group} is known as it is"
        )

    def condition(self, group: str, kind: str) -> dict[str, Any]:
        """One condition of a group, empty while it is not there."""
        status, found = self.control_plane.rest.request("GET", f"/apis/{API_VERSION}/quotagroups/{group}")
        conditions = dict(found).get("status", {}).get("conditions", []) if status == 200 else []
        return next((dict(each) for each in conditions if each["type"] == kind), {})

    def flavor(self, name: str, **spec: Any) -> None:
        """Create a ResourceFlavor."""
        body = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}
        self.create(f"/apis/{API_VERSION}/resourceflavors", body)

    def job(self, name: str, group: str, cpu: str = "1", namespace: str = "default", **more: Any) -> dict[str, Any]:
        """Create a held Job, as the webhook would leave it."""
        return self.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", job_manifest(name, group, cpu, **more))

    def get_job(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """A Job as it is now."""
        return self.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")

    def jobs(self, namespace: str = "default") -> dict[str, dict[str, Any]]:
        """All Jobs of a namespace, by name."""
        items = self.get(f"/apis/batch/v1/namespaces/{namespace}/jobs")["items"]
        return {each["metadata"]["name"]: each for each in items}

    def running(self, namespace: str = "default") -> set[str]:
        """The names of the Jobs that are not suspended and have not finished."""
        return {
            name for name, job in self.jobs(namespace).items() if not job["spec"].get("suspend") and not finished(job)
        }

    def pods_of(self, job: str, namespace: str = "default") -> dict[str, dict[str, Any]]:
        """The Job's pods that are not deleted and have not ended, by name."""
        found = self.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector=batch.kubernetes.io/job-name={job}")
        return {
            each["metadata"]["name"]: each
            for each in found["items"]
            if not each["metadata"].get("deletionTimestamp") and each["status"]["phase"] in ("Pending", "Running")
        }

    def pods_on_nodes(self, job: str, namespace: str = "default") -> dict[str, str]:
        """Name -> node of the Job's live pods that the scheduler has placed."""
        placed = {name: each["spec"].get("nodeName", "") for name, each in self.pods_of(job, namespace).items()}
        return {name: node for name, node in placed.items() if node}

    def stopping_pods(self, namespace: str = "default") -> list[str]:
        """The names of the pods that are being deleted and have not ended."""
        found = self.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        live = [each["metadata"] for each in found if each["status"]["phase"] in ("Pending", "Running")]
        return [each["name"] for each in live if each.get("deletionTimestamp")]

    def finish(self, job: str) -> None:
        """Say as a kubelet would that the Job's pods have succeeded, and wait until it has finished."""
        for name in wait_for(lambda: self._all_running(job), f"{job} has its pods"):
            self.merge(f"/api/v1/namespaces/default/pods/{name}/status", {"status": {"phase": "Succeeded"}})
        wait_for(lambda: finished(self.get_job(job)), f"{job} has finished")

    def _all_running(self, job: str) -> list[str]:
        """The names of the Job's pods if all of them run; else none."""
        pods = self.pods_of(job)
        return list(pods) if all(each["status"]["phase"] == "Running" for each in pods.values()) else []

    def end_pods(self, namespace: str = "default") -> None:
        """Say as a kubelet would that the pods that are being deleted have ended."""
        for name in self.stopping_pods(namespace):
            ended = {"status": {"phase": "Failed"}}
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
            status, answer = self.control_plane.rest.request("PATCH", path, body=ended, content_type=MERGE)
            assert status in (200, 404), answer

    def events(self, name: str, namespace: str = "default") -> list[tuple[str, str]]:
        """(reason, note) of the events about the object of that name, oldest first."""
        found = self.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
        mine = [
            each for each in found if each["regarding"]["name"] == name and "quotree" in each["reportingController"]
        ]
        return [(each["reason"], each["note"]) for each in sorted(mine, key=lambda each: str(each["eventTime"]))]


def quota(flavor: str = "default", **limits: str) -> dict[str, Any]:
    """One entry about cpu: quota(min="4", max="8")."""
    return {"flavor": flavor, **{name: {"cpu": cpu} for name, cpu in limits.items()}}


def job_manifest(
    name: str,
    group: str | None,
    cpu: str = "1",
    *,
    pods: int = 1,
    run_for: str | None = None,
    labels: Mapping[str, str] | None = None,
    pod: Mapping[str, Any] | None = None,
    suspend: bool = True,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A Job of `pods` pods, each asking for `cpu`."""
    simulated = {**(annotations or {})}
    if run_for is not None:
        simulated["demo.quotree.dev/run-for"] = run_for
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    grouped = {GROUP_LABEL: group} if group else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {**grouped, **(labels or {})}},
        "spec": {
            "suspend": suspend,
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 1000,
            "template": {
                "metadata": {"annotations": simulated},
                "spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})},
            },
        },
    }


def finished(job: Mapping[str, Any]) -> bool:
    """Complete or Failed."""
    conditions = job.get("status", {}).get("conditions", [])
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)


def admission_of(job: Mapping[str, Any]) -> dict[str, Any] | None:
    """The admission annotation, decoded."""
    return note_of(job, ADMISSION)


def eviction_of(job: Mapping[str, Any]) -> dict[str, Any] | None:
    """The eviction annotation, decoded."""
    return note_of(job, EVICTION)


def note_of(job: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Any of Quotree's annotations, decoded."""
    text = job["metadata"].get("annotations", {}).get(name)
    return None if text is None else dict(msgspec.json.decode(text))


def wait_for(ask: Callable[[], T], what: str, seconds: float = 120, every: float | None = None) -> T:
    """Ask until the answer is true; return it."""
    return first_true(ask, lambda: f"after {seconds:g} s still not: {what}", seconds, every)
