"""The rendered chart, applied by a tool that watches over it as Argo CD and Flux do, while Quotree runs: no fight.

Service accounts and roles are the chart's own; only that the two processes run on this host is another.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.flags import DEFAULT_CONTROLLERS
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.rest import serves
from tests.project.repository import ROOT
from tests.webhook.webhook_process import wait_for

NAMESPACE = "quotree-system"
MANAGER = "argocd-controller"
APPLY = ("apply", "--server-side", f"--field-manager={MANAGER}")
GROUP = {
    "apiVersion": "quotree.dev/v1alpha1",
    "kind": "QuotaGroup",
    "metadata": {"name": "vision"},
    "spec": {"quotas": [{"min": {"cpu": 1}}]},
}
DEPLOYING = ("deployment-controller", "replicaset-controller", "endpointslice-controller")


@dataclass(slots=True)
class GitOps:
    """A cluster, what is applied to it again and again, and Quotree's processes."""

    cluster: ControlPlane
    manifests: str
    ports: Ports = field(default_factory=Ports)
    processes: list[Process] = field(default_factory=list)

    def sync(self) -> subprocess.CompletedProcess[str]:
        """Apply everything as the tool does; without force, so that a field of another manager is a conflict."""
        return self.cluster.kubectl(*APPLY, "-f", "-", input=self.manifests, check=False)

    def difference(self) -> str:
        """What another apply would change."""
        words = ("diff", "--server-side", "--force-conflicts", f"--field-manager={MANAGER}", "-f", "-")
        done = self.cluster.kubectl(*words, input=self.manifests, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def start(self, component: str) -> None:
        """Start a process with the settings and the rights that the chart gives it."""
        config = self.cluster.get("configmap", f"quotree-{component}", "-n", NAMESPACE)["data"][f"{component}.yaml"]
        user = f"system:serviceaccount:{NAMESPACE}:quotree-{component}"
        kubeconfig = self.cluster.kubeconfig_for(
            user, ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}")
        )
        health = self.ports.take()
        settings: dict[str, Any] = yaml.safe_load(config)
        settings |= {"connection": {"kubeconfig": str(kubeconfig)}, "health": {"host": "127.0.0.1", "port": health}}
        settings["metrics"]["port"] = self.ports.take()
        if component == "webhook":
            settings["drain"] = "0s"
            settings["listen"] = {"host": "127.0.0.1", "port": self.ports.take()}
        file = self.cluster.workdir / f"gitops-{component}.yaml"
        file.write_text(yaml.safe_dump(settings))
        process = Process(
            component,
            [sys.executable, "-m", component, "--config", str(file)],
            log=self.cluster.workdir / f"gitops-{component}.log",
            environment={**os.environ, "PYTHONPATH": str(ROOT)},
            probe=lambda: serves(f"http://127.0.0.1:{health}/livez"),
        )
        process.start()
        self.processes.append(process)

    def entries(self) -> list[dict[str, Any]]:
        kinds = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
        return [hook["clientConfig"] for kind in kinds for hook in self.cluster.get(kind, "quotree")["webhooks"]]

    def versions(self) -> dict[str, str]:
        """Each applied object's version, which any write changes."""
        listed = self.cluster.kubectl("get", "-f", "-", "-o", "json", input=self.manifests).stdout
        return {
            f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for each in json.loads(listed)["items"]
        }


@pytest.fixture(scope="module")
def gitops(control_plane_binaries: Binaries) -> Iterator[GitOps]:
    """The chart as `helm template` renders it with default values, applied once; no process runs yet."""
    nodes = [NodeSpec("node", allocatable={"cpu": "8", "memory": "16Gi", "pods": "110"})]
    with cluster.start(control_plane_binaries, nodes=nodes, controllers=(*DEFAULT_CONTROLLERS, *DEPLOYING)) as started:
        started.kubectl("create", "namespace", NAMESPACE)
        chart = str(Path(ROOT / "charts" / "quotree"))
        manifests = started.helm("template", "quotree", chart, "-n", NAMESPACE, "--skip-tests").stdout
        made = GitOps(started, manifests)
        done = made.sync()
        assert done.returncode == 0, done.stderr
        try:
            yield made
        finally:
            for process in made.processes:
                process.stop()
            made.ports.close()


@pytest.fixture(scope="module")
def running(gitops: GitOps) -> GitOps:
    """Both processes run, and the webhook has written its certificate and its path into the configurations."""
    gitops.start("webhook")
    wait_for(
        lambda: all("caBundle" in each and "path" in each["service"] for each in gitops.entries()), "it is callable"
    )
    gitops.start("reconciler")
    lease = ("lease", "quotree-reconciler", "-n", NAMESPACE)
    wait_for(lambda: gitops.cluster.get(*lease).get("spec", {}).get("holderIdentity"), "a reconciler leads")
    return gitops


def test_edit_before_the_webhook_has_a_certificate_is_refused_with_the_reason(gitops: GitOps) -> None:
    def refusal() -> str:
        return gitops.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump(GROUP), check=False).stderr

    wait_for(lambda: "webhook cannot be called yet" in refusal(), "the policy is in force")
    message = refusal()
    assert "kubectl rollout status deployment/quotree-webhook -n quotree-system" in message
    assert "x509" not in message


def test_applying_the_same_again_changes_nothing_while_quotree_runs(running: GitOps) -> None:
    wait_for(lambda: running.difference() == "", "nothing differs")
    before = running.entries()
    done = running.sync()
    assert (done.returncode, done.stderr) == (0, "")
    assert running.entries() == before
    assert all(base64.b64decode(each["caBundle"]).startswith(b"-----BEGIN CERT") for each in before)


def test_no_process_keeps_rewriting_applied_objects(running: GitOps) -> None:
    """Beside the status of Deployments and of quota objects' definitions, and the Lease that is renewed."""
    running.sync()
    before = running.versions()
    for _ in range(3):
        running.sync()
    after = running.versions()
    changed = {name for name, version in after.items() if before[name] != version}
    assert changed <= {"Lease/quotree-reconciler", "Deployment/quotree-webhook", "Deployment/quotree-reconciler"}


def test_manual_edit_is_detected_and_reverted(running: GitOps) -> None:
    patch = '{"spec":{"replicas":5}}'
    running.cluster.kubectl("patch", "deployment", "quotree-webhook", "-n", NAMESPACE, "-p", patch)
    assert "replicas: 5" in running.difference()
    assert "conflict" in running.sync().stderr
    running.cluster.kubectl(*APPLY, "--force-conflicts", "-f", "-", input=running.manifests)
    wait_for(lambda: running.difference() == "", "nothing differs once the Deployment has settled")


def test_a_version_in_which_objects_are_stored_cannot_be_taken_out_of_a_definition(gitops: GitOps) -> None:
    """So that a release that drops one is refused before anything is lost; docs/upgrade.md says what comes first."""
    definition = gitops.cluster.get("crd", "quotagroups.quotree.dev")
    assert definition["status"]["storedVersions"] == ["v1alpha1"]
    version = {**definition["spec"]["versions"][0], "name": "v1"}
    body = {
        "apiVersion": definition["apiVersion"],
        "kind": definition["kind"],
        "metadata": {"name": definition["metadata"]["name"]},
        "spec": {**definition["spec"], "versions": [version]},
    }
    done = gitops.cluster.kubectl(*APPLY, "--force-conflicts", "-f", "-", input=yaml.safe_dump(body), check=False)
    assert done.returncode != 0
    assert 'status.storedVersions[0]: Invalid value: "v1alpha1"' in done.stderr
