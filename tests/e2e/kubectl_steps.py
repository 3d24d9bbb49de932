"""What end-to-end tests say to the cluster, as an ordinary user, and what they read back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import yaml

from dev.controlplane.quotree import Quotree
from tests.polling import first_true

Object = dict[str, Any]
PATIENCE = 240.0


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

    def tried(self, body: Object) -> Object:
        """The object as it would be stored, by a dry run as the user."""
        done = self._kubectl("create", "--dry-run=server", "-o", "yaml", "-f", "-", text=yaml.safe_dump(body))
        assert done.returncode == 0, done.stderr
        return dict(yaml.safe_load(done.stdout))

    def known(self, name: str) -> None:
        """Wait until the status shows the group's latest spec: groups and workloads are watched independently."""

        def is_known() -> bool:
            found = self.group(name)
            return bool(found.get("status", {}).get("observedGeneration", 0) >= found["metadata"]["generation"])

        self.until(f"{name} is known as it is", is_known)

    def job(self, name: str) -> Object:
        """The Job as stored."""
        return self._stored(f"/apis/batch/v1/namespaces/default/jobs/{name}")

    def group(self, name: str) -> Object:
        """The QuotaGroup as stored."""
        return self._stored(f"/apis/quotree.dev/v1alpha1/quotagroups/{name}")

    def is_held(self, name: str) -> bool:
        return bool(self.job(name)["spec"]["suspend"])

    def is_complete(self, name: str) -> bool:
        conditions = self.job(name).get("status", {}).get("conditions", [])
        return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)

    def node_of(self, name: str) -> str:
        """The node that a running Job's pod is on; empty before it is scheduled."""
        selector = f"labelSelector=batch.kubernetes.io/job-name={name}"
        pods = self._stored(f"/api/v1/namespaces/default/pods?{selector}")["items"]
        return next((str(pod["spec"].get("nodeName", "")) for pod in pods), "")

    def until(self, what: str, seen: Callable[[], bool]) -> None:
        """Wait until it is seen; fail with the processes' last words when it is not."""

        def last_words() -> str:
            processes = (*self.quotree.reconcilers, *self.quotree.webhooks)
            logs = "\n".join(each.log_tail()[-3000:] for each in processes)
            return f"not seen within {PATIENCE:.0f} s: {what}\n{logs}"

        first_true(seen, last_words, PATIENCE)

    def clear(self) -> None:
        """Delete all work and wait until its quota is free."""
        cluster = self.quotree.cluster
        cluster.kubectl("delete", "jobs,pods", "--all", "--wait=true", "--cascade=foreground")
        self.until("no pod is left", lambda: not self._stored("/api/v1/namespaces/default/pods")["items"])

    def _stored(self, path: str) -> Object:
        """As the administrator sees it. Not by kubectl: a process for each look slows what is waited for."""
        status, found = self.quotree.cluster.rest.request("GET", path)
        assert status == 200, found
        return dict(found)

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
