"""Quotree beside a control plane: its chart installed by helm, its processes on this host with only the chart's rights.

They are the chart's service accounts, as in their pods, each replica by a token of its own: the API server checks a
token once in a while, and verifies a client certificate for every request.

The demo, the end-to-end tests and the benchmarks start it here, so that all of them use what a cluster would use: the
same chart, the same roles, the same settings files. Only the way the API server reaches the webhook is another: by URL.
"""

import base64
import http
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import AS_MODULE, Process
from dev.controlplane.rest import serves
from shared.api.names import API_VERSION

NAMESPACE: Final = "quotree-system"
CHART: Final = Path(__file__).parents[2] / "charts" / "quotree"
WEBHOOK: Final = "quotree-webhook"
RECONCILER: Final = "quotree-reconciler"
"""The service accounts."""
WEBHOOK_USER: Final = f"system:serviceaccount:{NAMESPACE}:{WEBHOOK}"
RECONCILER_USER: Final = f"system:serviceaccount:{NAMESPACE}:{RECONCILER}"
_READY: Final = 120.0


@dataclass(slots=True)
class Quotree:
    """What runs: webhook replicas (the first one is called), reconciler replicas, and the command line."""

    cluster: ControlPlane
    ports: Ports
    quota: Mapping[str, Any]
    kinds: Sequence[Mapping[str, Any]] = ()
    """The kinds that are governed beside Jobs and pods, as in the settings."""
    webhooks: list[Process] = field(default_factory=list)
    webhook_ports: list[int] = field(default_factory=list)
    reconcilers: list[Process] = field(default_factory=list)
    visibility: int | None = None
    """The port at which the API server calls the visibility API; None: it is off."""
    health: dict[str, str] = field(default_factory=dict)
    """Process name -> the URL of its health and metrics port."""
    run: Sequence[str] = AS_MODULE
    """What Python gets before the name of each module."""

    @property
    def commands(self) -> Path:
        """The folder of `quotree` and `kubectl-quotree`."""
        return Path(sys.executable).parent

    @property
    def _environment(self) -> dict[str, str]:
        path = f"{self.cluster.binaries.kubectl.parent}:{os.environ.get('PATH', '')}"
        return {**os.environ, "PATH": path, "KUBECONFIG": str(self.cluster.kubeconfig)}

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start `quotree WORDS`; the caller ends it."""
        command = [str(self.commands / "quotree"), *words]
        return subprocess.Popen(command, text=True, env=self._environment)

    def command(self, *words: str, check: bool = True) -> str:
        """Return what `quotree WORDS` prints. Raises ControlPlaneError with its words when `check` and it fails."""
        command = [str(self.commands / "quotree"), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self._environment)
        if check and done.returncode:
            raise ControlPlaneError(
                f"quotree {' '.join(words)} ended with code {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def add_webhook(self, *, listen: int | None = None, **settings: Any) -> Process:
        """Start one more webhook replica and wait until it is ready."""
        port, health = listen or self.ports.take(), self.ports.take()
        name = f"webhook-{len(self.webhooks)}"
        content = {
            "listen": {"host": "127.0.0.1", "port": port},
            "namespace": NAMESPACE,
            "reconcilerUser": RECONCILER_USER,
            "certificates": {"names": ["127.0.0.1"], "overlap": "0s"},
            "drain": "1s",
            "guardVisibility": self.visibility is not None,
            **settings,
        }
        process = self._start(name, "webhook", WEBHOOK, health, content)
        self.webhooks.append(process)
        self.webhook_ports.append(port)
        return process

    def add_reconciler(self, **settings: Any) -> Process:
        """Start one more reconciler replica and wait until it is ready."""
        name = f"reconciler-{len(self.reconcilers)}"
        content: dict[str, Any] = {"leaderElection": {"namespace": NAMESPACE}, **settings}
        if self.visibility is not None:
            where = {"host": "127.0.0.1", "port": self.visibility, "servicePort": self.visibility}
            content.setdefault("visibility", {"enabled": True, "overlap": "0s", **where})
        process = self._start(name, "reconciler", RECONCILER, self.ports.take(), content)
        self.reconcilers.append(process)
        return process

    def close(self) -> None:
        """End every process."""
        for process in (*self.reconcilers, *self.webhooks):
            process.stop()

    def _start(self, name: str, module: str, account: str, health: int, content: Mapping[str, Any]) -> Process:
        folder = self.cluster.workdir
        if "connection" not in content:
            kubeconfig = self.cluster.service_account_kubeconfig(NAMESPACE, account)
            content = {"connection": {"kubeconfig": str(kubeconfig)}, **content}
        settings = {
            "health": {"host": "127.0.0.1", "port": health},
            "log": {"form": "text"},
            "quota": dict(self.quota),
            **({"kinds": [dict(kind) for kind in self.kinds]} if self.kinds else {}),
            **content,
        }
        config = folder / f"{name}.yaml"
        config.write_text(yaml.safe_dump(settings))
        self.health[name] = f"http://127.0.0.1:{health}"
        process = Process(
            name,
            [sys.executable, *self.run, module, "--config", str(config)],
            log=folder / f"{name}.log",
            environment={**os.environ, "PYTHONPATH": str(CHART.parent.parent), "PYTHONUNBUFFERED": "1"},
            probe=lambda: serves(f"http://127.0.0.1:{health}/readyz"),
        )
        process.start()
        return process


@contextmanager
def installed(  # noqa: PLR0913  each is a wish of its own, by name only
    cluster: ControlPlane,
    *,
    webhooks: int = 1,
    reconcilers: int = 1,
    quota: Mapping[str, Any] | None = None,
    url: str | None = None,
    values: Sequence[str] = (),
    visibility: bool = False,
    kinds: Sequence[Mapping[str, Any]] = (),
    webhook: Mapping[str, Any] | None = None,
    run: Sequence[str] = AS_MODULE,
) -> Iterator[Quotree]:
    """Install the chart and run Quotree until the end of the block.

    `quota`: the settings' quota part. `url`: where the API server calls the webhook instead of its first replica (a
    balancer of the caller's). `values`: further `--set` arguments for the chart. `visibility`: with the aggregated API.
    `kinds`: `{"preset": NAME}` or whole descriptors, for the chart and both processes. `webhook`: further settings of
    its replicas. `run`: what Python gets before the name of each process' module.
    """
    ports = Ports()
    quotree = Quotree(cluster, ports, quota or {}, kinds, visibility=ports.take() if visibility else None, run=run)
    try:
        port = ports.take()
        if visibility:
            values = (
                *values,
                "visibility.enabled=true",
                "visibility.externalName=localhost",
                f"visibility.port={quotree.visibility}",
            )
        _install_chart(cluster, url or f"https://127.0.0.1:{port}", values, kinds)
        for index in range(webhooks):
            quotree.add_webhook(listen=port if index == 0 else None, **(webhook or {}))
        if webhooks:
            wait_for_authority(cluster)
        for _ in range(reconcilers):
            quotree.add_reconciler()
        yield quotree
    finally:
        quotree.close()
        ports.close()


def _install_chart(cluster: ControlPlane, url: str, values: Sequence[str], kinds: Sequence[Mapping[str, Any]]) -> None:
    settings = [
        "webhook.deploy=false",
        f"webhook.url={url}",
        f"webhook.user={WEBHOOK_USER}",
        "reconciler.deploy=false",
        f"reconciler.user={RECONCILER_USER}",
        *values,
    ]
    flags = [word for setting in settings for word in ("--set", setting)]
    if kinds:
        flags += ["--set-json", f"kinds={json.dumps(list(kinds))}"]
    cluster.helm("install", "quotree", str(CHART), "--namespace", NAMESPACE, "--create-namespace", "--wait", *flags)
    # Part of the chart's Deployments, which do not run here.
    for account in (WEBHOOK, RECONCILER):
        body = {"metadata": {"name": account}}
        cluster.rest.request("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", body)


def wait_for_authority(cluster: ControlPlane) -> None:
    """Until the webhook has written its CA into both configurations, every review would fail."""
    deadline = time.monotonic() + _READY
    while not all(_has_authority(cluster, kind) for kind in ("mutating", "validating")):
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"the webhook did not write its CA into its configurations within {_READY:.0f} s")
        time.sleep(0.05)
    # The API server notices that a moment later.
    body = {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": "probe"}, "spec": {}}
    tried = f"/apis/{API_VERSION}/quotagroups?dryRun=All"
    while cluster.rest.request("POST", tried, body)[0] == http.HTTPStatus.INTERNAL_SERVER_ERROR:
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"the API server does not reach the webhook within {_READY:.0f} s")
        time.sleep(0.05)


def _has_authority(cluster: ControlPlane, kind: str) -> bool:
    path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/quotree"
    _, body = cluster.rest.request("GET", path)
    bundles = [each["clientConfig"].get("caBundle", "") for each in body.get("webhooks", [])]
    return bool(bundles) and all(b"BEGIN CERTIFICATE" in base64.b64decode(bundle) for bundle in bundles)
