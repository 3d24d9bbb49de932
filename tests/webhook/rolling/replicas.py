"""Webhook processes beside a real control plane, behind a balancer, as the API server would reach them by a Service."""

import base64
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from shared.api.names import API_VERSION, GROUP, VERSION
from tests.polling import first_true
from tests.preloaded import Fork, Preloaded, launched
from tests.versions import definitions
from tests.webhook.rolling.balancer import PortBalancer

NAMESPACE = "quotree-system"
CONFIGURATION = "quotree-quota-objects"
TIMEOUT = 10
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
EDITS = f"/api/v1/namespaces/{NAMESPACE}/configmaps?fieldSelector=metadata.name=quotree-edits"
"""What replicas remember of edits."""
TRIED = f"/apis/{API_VERSION}/quotagroups?dryRun=All"
_OVERLAPPING = [{"flavor": f"f{at}", "max": {"cpu": 1, **({"gpu": 1} if at else {})}} for at in range(17)]
NEVER = {
    "apiVersion": API_VERSION,
    "kind": "QuotaGroup",
    "metadata": {"name": "never"},
    "spec": {"quotas": _OVERLAPPING},
}
"""A group that only the webhook refuses: the schema does not compare that many entries."""


@dataclass
class Replicas:
    """Some webhook processes, and the configuration that makes the API server ask them."""

    control_plane: ControlPlane
    folder: Path
    balancer: PortBalancer
    edits: Mapping[str, str] = field(default_factory=lambda: {"reservation": "12s", "budget": "4s"})
    quota: Mapping[str, int] = field(default_factory=dict)
    preloaded: Preloaded | None = None
    processes: list[subprocess.Popen[bytes] | Fork] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    taken: Ports = field(default_factory=Ports)
    authority: trustme.CA = field(default_factory=trustme.CA)

    def install(self) -> None:
        """The kinds, the namespace and a certificate; fine if they are there."""
        for definition in definitions(self.control_plane):
            self.control_plane.rest.request(
                "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition
            )
        self.control_plane.rest.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for plural in ("quotagroups", "resourceflavors"):
            wait_for(
                lambda plural=plural: self.control_plane.rest.request("GET", f"/apis/{API_VERSION}/{plural}")[0] == 200
            )
        leaf = self.authority.issue_cert("127.0.0.1", "localhost")
        leaf.private_key_pem.write_to_path(self.folder / "tls.key")
        leaf.cert_chain_pems[0].write_to_path(self.folder / "tls.crt")

    def start(self, count: int, kubeconfigs: Sequence[Path] = (), module: str = "webhook") -> list[int]:
        """Start that many more, each with a kubeconfig of its own if given, and wait until they are ready.

        `module`: the program. Returns their numbers; from then on only these are asked.
        """
        ports = [self.taken.take() for _ in range(2 * count)]
        started = []
        for at in range(count):
            kubeconfig = kubeconfigs[at] if kubeconfigs else self.control_plane.kubeconfig
            started.append(self._start_one(ports[at], ports[count + at], kubeconfig, module))
        for at, number in enumerate(started):
            wait_for(lambda at=at: _is_ready(ports[count + at]), lambda number=number: self.log(number))
        self.use(*started)
        return started

    def use(self, *numbers: int) -> None:
        """Direct reviews to these replicas only; return once the API server does."""
        self.remove()
        self.balancer.ports = [self.ports[number] for number in numbers]
        self.balancer.cut()
        webhooks = [self._webhook(plural) for plural in ("quotagroups", "resourceflavors")]
        body = {"metadata": {"name": CONFIGURATION}, "webhooks": webhooks}
        code, answer = self.control_plane.rest.request("POST", CONFIGURATIONS, body)
        assert code == 201, answer
        wait_for(lambda: "(OverlappingEntries)" in str(self.control_plane.rest.request("POST", TRIED, NEVER)[1]))

    def _start_one(self, port: int, health: int, kubeconfig: Path, module: str) -> int:
        number = len(self.processes)
        settings = {
            "connection": {"kubeconfig": str(kubeconfig)},
            "listen": {"host": "127.0.0.1", "port": port},
            "health": {"host": "127.0.0.1", "port": health},
            "certificates": {"source": "Files", "directory": str(self.folder)},
            "callers": {"by": "Any"},
            "namespace": NAMESPACE,
            "log": {"form": "text"},
            "edits": dict(self.edits),
            "quota": dict(self.quota),
        }
        config = self.folder / f"webhook-{number}.yaml"
        config.write_text(yaml.safe_dump(settings))
        log = self.folder / f"webhook-{number}.log"
        self.processes.append(launched(module, config, log, self.preloaded))
        self.ports.append(port)
        return number

    def log(self, number: int) -> str:
        """The end of a replica's log."""
        return (self.folder / f"webhook-{number}.log").read_text()[-4000:]

    def kill(self, number: int) -> None:
        """SIGKILL."""
        self.processes[number].kill()
        self.processes[number].wait(60)

    @contextmanager
    def paused(self, number: int) -> Iterator[None]:
        """The replica does nothing meanwhile."""
        pid = self.processes[number].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def clear(self) -> None:
        """Take away every group and flavor and what is remembered of them."""
        self.remove()
        self.empty(f"/apis/{API_VERSION}/quotagroups", f"/apis/{API_VERSION}/resourceflavors", EDITS)

    def empty(self, *paths: str) -> None:
        """Delete all objects there, and wait until none is left."""
        for path in paths:
            self.control_plane.rest.request("DELETE", path, {"propagationPolicy": "Background"})
            wait_for(lambda path=path: self.control_plane.rest.request("GET", path)[1]["items"] == [])

    def stop(self) -> None:
        """End all of them, and let edits pass again."""
        self.remove()
        for process in self.processes:
            process.kill()
            process.wait(60)
        self.processes.clear()
        self.taken.close()

    def remove(self) -> None:
        """Take the webhook configuration away."""
        self.control_plane.rest.request("DELETE", f"{CONFIGURATIONS}/{CONFIGURATION}")

    def _webhook(self, plural: str) -> dict[str, Any]:
        return {
            "name": f"{plural}.quotree.dev",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": TIMEOUT,
            "failurePolicy": "Fail",
            "clientConfig": {
                "url": f"https://127.0.0.1:{self.balancer.port}/validate/{plural}",
                "caBundle": base64.b64encode(self.authority.cert_pem.bytes()).decode(),
            },
            "rules": [
                {
                    "apiGroups": [GROUP],
                    "apiVersions": [VERSION],
                    "resources": [plural],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }
            ],
        }


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_for(holds: Any, say: Any = lambda: "", seconds: float = 240) -> None:
    """Until `holds()`; fails with what `say()` says."""
    first_true(holds, lambda: str(say()), seconds)
