"""What end-to-end tests say to the cluster, as an ordinary user, and what they read back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import yaml

from dev.controlplane.quotree import Quotree

Object = dict[str, Any]
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Asking:
    """One user's view of the cluster."""

    quotree: Quotree
    kubeconfig: Path

    def submit(self, name: str, group: str, cpu: int, *, run_for: str = "", priority: int = 0, **spec: Any) -> None:
        """Create a Job of one pod; it runs until it is deleted unless `run_for` is given."""
        done = self.apply(job(name, group, cpu, run_for=run_for, priority=priority, **spec))
        assert done.returncode == 0, done.stderr

    def apply(self, *objects: Object) -> CompletedProcess[str]:
        """`kubectl apply --server-side` as the user."""
        return self._kubectl("apply", "--server-side", "-f", "-", text=yaml.safe_dump_all(objects))

    def patch(self, name: str, body: str, *flags: str) -> CompletedProcess[str]:
        """`kubectl patch job --type=merge` as the user."""
        return self._kubectl("patch", "job", name, "--type=merge", "-p", body, *flags)

    def edit_tree(self, *objects: Object) -> CompletedProcess[str]:
        """`kubectl apply --server-side` as the platform team."""
        text = yaml.safe_dump_all(objects)
        return self.quotree.cluster.kubectl("apply", "--server-side", "-f", "-", input=text, check=False)

    def job(self, name: str) -> Object:
        """The Job as stored."""
        found: Object = self.quotree.cluster.get("job", name)
        return found

    def group(self, name: str) -> Object:
        """The QuotaGroup as stored."""
        found: Object = self.quotree.cluster.get("quotagroup", name)
        return found

    def is_held(self, name: str) -> bool:
        return bool(self.job(name)["spec"]["suspend"])

    def is_complete(self, name: str) -> bool:
        conditions = self.job(name).get("status", {}).get("conditions", [])
        return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)

    def node_of(self, name: str) -> str:
        """The node that a running Job's pod is on; empty before it is scheduled."""
        pods = self.quotree.cluster.get("pods", "-l", f"batch.kubernetes.io/job-name={name}")["items"]
        return next((str(pod["spec"].get("nodeName", "")) for pod in pods), "")

    def until(self, what: str, seen: Callable[[], bool]) -> None:
        """Wait until it is seen; fail with the processes' last words when it is not."""
        deadline = time.monotonic() + PATIENCE
        while not seen():
            if time.monotonic() > deadline:
                logs = "\n".join(
                    each.log_tail()[-3000:] for each in (*self.quotree.reconcilers, *self.quotree.webhooks)
                )
                raise AssertionError(f"not seen within {PATIENCE:.0f} s: {what}\n{logs}")
            time.sleep(0.1)

    def clear(self) -> None:
        """Delete all work and wait until its quota is free."""
        cluster = self.quotree.cluster
        cluster.kubectl("delete", "jobs,pods", "--all", "--wait=true", "--cascade=foreground")
        self.until("no pod is left", lambda: not cluster.get("pods")["items"])

    def _kubectl(self, *words: str, text: str | None = None) -> CompletedProcess[str]:
        return self.quotree.cluster.kubectl(*words, input=text, check=False, as_kubeconfig=self.kubeconfig)


def job(name: str, group: str, cpu: int, *, run_for: str = "", priority: int = 0, **spec: Any) -> Object:
    """A Job of one pod."""
    container = {"name": "main", "image": "work", "resources": {"requests": {"cpu": str(cpu)}}}
    annotations = {"demo.quotree.dev/run-for": run_for} if run_for else {}
    pod: Object = {"restartPolicy": "Never", "containers": [container]}
    if priority:
        pod["priorityClassName"] = f"p{priority}"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"quotree.dev/group": group}},
        "spec": {"backoffLimit": 0, "template": {"metadata": {"annotations": annotations}, "spec": pod}, **spec},
    }


def group(name: str, parent: str | None = None, **spec: Any) -> Object:
    """A QuotaGroup."""
    given = {"parent": parent} if parent else {}
    return {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "QuotaGroup",
        "metadata": {"name": name},
        "spec": {**given, **spec},
    }
