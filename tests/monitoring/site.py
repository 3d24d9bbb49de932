"""A real Prometheus beside Quotree: it scrapes the processes as the ServiceMonitor says, and the API server."""

import json
import os
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.quotree import Quotree, installed
from dev.controlplane.rest import serves
from dev.prometheus import Programs

PATIENCE: Final = 120.0
_HURRIED: Final = {"m": "s", "h": "m"}
_TIMES: Final = re.compile(r"\b(\d+)([mh])\b")


def hurried(spec: dict[str, Any]) -> dict[str, Any]:
    """The rules with seconds in place of minutes, and minutes of hours, where they speak of time; the rest stays."""

    def shorter(text: str) -> str:
        return _TIMES.sub(lambda found: f"{found[1]}{_HURRIED[found[2]]}", text)

    def faster(rule: dict[str, Any]) -> dict[str, Any]:
        return {**rule, "expr": shorter(rule["expr"]), "for": shorter(rule["for"])}

    return {"groups": [{**group, "rules": [faster(each) for each in group["rules"]]} for group in spec["groups"]]}


@dataclass(slots=True)
class Monitored:
    """Quotree, and what Prometheus says of it."""

    quotree: Quotree
    url: str
    folder: Path

    @property
    def cluster(self) -> ControlPlane:
        """The control plane."""
        return self.quotree.cluster

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result vector of an instant query. Raises urllib.error.HTTPError for one that is not understood."""
        answer = self._get("query", query=expression)
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def alerts(self, name: str, state: str = "firing") -> list[dict[str, str]]:
        """The labels of the alerts of that name."""
        found = self._get("alerts")["data"]["alerts"]
        return [each["labels"] for each in found if each["labels"]["alertname"] == name and each["state"] == state]

    def targets(self) -> dict[str, str]:
        """job -> up or down, with the reason."""
        found = self._get("targets")["data"]["activeTargets"]
        return {
            f"{each['labels']['job']}/{each['scrapeUrl']}": f"{each['health']} {each['lastError']}" for each in found
        }

    def until(self, what: str, seen: Callable[[], object], again: Callable[[], object] | None = None) -> None:
        """Wait until it is seen; between looks, do `again`."""
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert time.monotonic() < deadline, f"not seen within {PATIENCE:.0f} s: {what}; targets: {self.targets()}"
            if again is not None:
                again()
            time.sleep(0.5)

    def until_firing(self, alert: str, again: Callable[[], object] | None = None) -> list[dict[str, str]]:
        """Wait until the alert fires; its labels."""
        self.until(f"{alert} fires", lambda: self.alerts(alert), again)
        return self.alerts(alert)

    def until_resolved(self, alert: str) -> None:
        """Wait until it neither fires nor is pending."""
        self.until(f"{alert} resolves", lambda: not self.alerts(alert) and not self.alerts(alert, "pending"))

    def _get(self, what: str, **query: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            content: dict[str, Any] = json.load(answer)
            return content


@contextmanager
def monitored(cluster: ControlPlane, programs: Programs, rules: dict[str, Any]) -> Iterator[Monitored]:
    """Install Quotree, and let a Prometheus with these rules scrape it with the token of an account that may."""
    ports = Ports()
    listen, metrics = ports.take(), {each: ports.take() for each in ("webhook", "reconciler")}
    prometheus = ports.take()
    guarded = {each: {"authorization": "Token", "host": "127.0.0.1", "port": metrics[each]} for each in metrics}
    try:
        with installed(cluster, url=f"https://127.0.0.1:{listen}", webhooks=0, reconcilers=0) as quotree:
            quotree.add_webhook(listen=listen, metrics=guarded["webhook"])
            quotree.add_reconciler(metrics=guarded["reconciler"])
            folder = cluster.workdir / "prometheus"
            folder.mkdir()
            _configure(cluster, folder, metrics, rules)
            process = _prometheus(programs, folder, prometheus)
            process.start()
            try:
                yield Monitored(quotree, f"http://127.0.0.1:{prometheus}", folder)
            finally:
                process.stop()
    finally:
        ports.close()


def _configure(cluster: ControlPlane, folder: Path, metrics: dict[str, int], rules: dict[str, Any]) -> None:
    cluster.kubectl("create", "serviceaccount", "prometheus")
    bound = ("--clusterrole=quotree-metrics-reader", "--serviceaccount=default:prometheus")
    cluster.kubectl("create", "clusterrolebinding", "quotree-metrics-reader", *bound)
    (folder / "token").write_text(cluster.kubectl("create", "token", "prometheus", "--duration=24h").stdout.strip())
    (folder / "admin").write_text(cluster.token)
    # As the chart's ServiceMonitor has it.
    guarded = {"scheme": "https", "tls_config": {"insecure_skip_verify": True}}
    jobs: list[dict[str, Any]] = [
        {
            "job_name": name,
            **guarded,
            "authorization": {"credentials_file": str(folder / "token")},
            "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
        }
        for name, port in metrics.items()
    ]
    jobs.append(
        {
            "job_name": "apiserver",
            **guarded,
            "authorization": {"credentials_file": str(folder / "admin")},
            "static_configs": [{"targets": [cluster.url.removeprefix("https://")]}],
            "metric_relabel_configs": [
                {"source_labels": ["__name__"], "regex": "apiserver_admission_webhook.*", "action": "keep"}
            ],
        }
    )
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yaml")],
        "scrape_configs": jobs,
    }
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))


def _prometheus(programs: Programs, folder: Path, port: int) -> Process:
    return Process(
        "prometheus",
        [
            str(programs.prometheus),
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        log=folder / "prometheus.log",
        environment=dict(os.environ),
        probe=lambda: serves(f"http://127.0.0.1:{port}/-/ready"),
    )
