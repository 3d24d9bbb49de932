"""Histories written step by step, for tests of the checker: who did what, one second after the other."""

from datetime import timedelta
from typing import Any

import msgspec

from shared.api.core.job import Job, read_job
from shared.api.core.pod import Pod, read_pod
from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL
from shared.quota.model.node import ClusterNode
from shared.quota.model.read.groups import read_group
from tests.builders import after
from tests.chaos.judging.causes import Surrounding
from tests.chaos.judging.checker import Expectations, Findings, check
from tests.chaos.judging.history.history import Version
from tests.chaos.judging.history.records import Lease, Record

EXPECTED = Expectations(
    reconciler="reconciler",
    around=Surrounding((ClusterNode("node", {}, {"cpu": 8000}),)),
    capacity={"cpu": 8000},
    lag=timedelta(seconds=20),
)


class WrittenHistory:
    """A history written step by step; each version is a second later than the previous one."""

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.specs: dict[str, tuple[str, int, dict[str, str]]] = {}
        self.priorities: dict[str, int] = {}
        self.started: dict[str, str] = {}
        self.last_annotations: dict[str, str] = {}
        self.observe("lease", Lease("a"), "reconciler")
        self.group("root")
        self.group("left", min="4")
        self.group("right", min="4", max="6")

    @property
    def now(self) -> str:
        return after(len(self.versions)).isoformat()

    def observe(self, uid: str, record: Record, user: str, **more: Any) -> None:
        revision = len(self.versions) + 1
        version = Version(revision, after(len(self.versions)), uid, record, user, more.pop("writer", user), **more)
        self.versions.append(version)

    def group(self, name: str, **limits: str) -> None:
        quotas = [{word: {"cpu": cpu} for word, cpu in limits.items()}] if limits else []
        spec = {"parent": None if name == "root" else "root", "isParent": name == "root", "quotas": quotas}
        body = {"metadata": {"name": name}, "spec": {key: value for key, value in spec.items() if value is not None}}
        self.observe(f"group-{name}", read_group(body), "admin")

    def submit(self, name: str, group: str, cpu: int, *, priority: int = 0, **labels: str) -> None:
        self.specs[name] = (group, cpu, {"quotree.dev/" + label: value for label, value in labels.items()})
        self.priorities[name] = priority
        self.observe(name, self.job(name, suspend=True), "user")

    def start(self, name: str, user: str = "reconciler", **more: Any) -> None:
        self.started[name] = self.now
        self.observe(name, self.job(name, suspend=False, annotations=self._admission(name)), user, **more)

    def run(self, name: str) -> None:
        """The Job controller answers: one pod."""
        self.observe(f"{name}-pod", self.pod(name, "Running"), "controller")
        status = {"startTime": self.started[name], "active": 1}
        job = self.job(name, suspend=False, annotations=self._admission(name), status=status)
        self.observe(name, job, "controller", by_status=True)

    def evict(
        self, name: str, *, by: str = "", reason: str = "Reclaimed", user: str = "reconciler", **fields: Any
    ) -> None:
        annotation: dict[str, Any] = {
            "reason": reason,
            "time": self.now,
            "since": self.started[name],
            "flavors": {"cpu": "default"},
            "rule": "Reclaim",
            **fields,
        }
        if by:
            annotation["for"] = {"workload": f"ns/{by}", "uid": by, "flavors": {"cpu": "default"}}
        annotations = {EVICTION: msgspec.json.encode(annotation).decode()}
        status = {"startTime": self.started[name], "active": 1}
        self.observe(name, self.job(name, suspend=True, annotations=annotations, status=status), user)
        self.last_annotations = annotations

    def end(self, name: str) -> None:
        """The evicted Job's pod goes, and its Job says so."""
        self.observe(f"{name}-pod", self.pod(name, "Failed"), "controller", gone=True)
        self.observe(
            name, self.job(name, suspend=True, annotations=self.last_annotations), "controller", by_status=True
        )

    def _admission(self, name: str) -> dict[str, str]:
        annotation = {"flavors": {"cpu": "default"}, "time": self.started[name]}
        return {ADMISSION: msgspec.json.encode(annotation).decode()}

    def job(self, name: str, *, suspend: bool, annotations: dict[str, str] | None = None, status: Any = None) -> Job:
        group, cpu, labels = self.specs[name]
        container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}
        spec = {"containers": [container], "priority": self.priorities[name]}
        labels = {GROUP_LABEL: group, **labels}
        return read_job(
            {
                "metadata": {
                    "name": name,
                    "namespace": "ns",
                    "uid": name,
                    "labels": labels,
                    "annotations": annotations or {},
                },
                "spec": {"suspend": suspend, "parallelism": 1, "completions": 1, "template": {"spec": spec}},
                "status": status or {},
            }
        )

    def pod(self, name: str, phase: str) -> Pod:
        owner = {"kind": "Job", "apiVersion": "batch/v1", "name": name, "uid": name, "controller": True}
        metadata = {"name": f"{name}-pod", "namespace": "ns", "uid": f"{name}-pod", "ownerReferences": [owner]}
        return read_pod({"metadata": metadata, "status": {"phase": phase}})

    def judged(self) -> Findings:
        return check(self.versions, EXPECTED)
