"""Webhook processes beside a real control plane, and words to say what a test does with them."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from shared.api.names import API_VERSION
from tests.metric_sums import sum_of
from tests.polling import first_true
from tests.preloaded import Fork, Preloaded, launched
from tests.versions import definitions

T = TypeVar("T")
NAMESPACE = "quotree-system"
JSON = "application/json"
MERGE = "application/merge-patch+json"
PATCH = "application/json-patch+json"
RECONCILER = "quotree:reconciler"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
REVIEWS = "quotree_webhook_reviews_total"


@dataclass(slots=True)
class Replica:
    """One webhook process."""

    number: int
    port: int
    health: int
    process: subprocess.Popen[bytes] | Fork
    log: Path

    def is_ready(self) -> bool:
        """What its readiness probe says."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def unready(self) -> str:
        """The message of its readiness probe; empty when it is ready or does not answer yet."""
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=2).close()
        except urllib.error.HTTPError as error:
            with error:
                return str(error.read().decode())
        except OSError:
            return ""
        return ""

    def message(self) -> str:
        """Its log."""
        return self.log.read_text()

    def metrics(self) -> str:
        """All it counts."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/metrics", timeout=60) as answer:
            return str(answer.read().decode())

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(120)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(60)


@dataclass(slots=True)
class AdmissionSetup:
    """A control plane whose Jobs, pods and quota objects go through our webhook."""

    control_plane: ControlPlane
    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    replicas: list[Replica] = field(default_factory=list)
    preloaded: Preloaded | None = None
    """What replicas are forked from; without it each is started for itself."""
    started: int = 0
    ports: Ports = field(default_factory=Ports)

    def install(self) -> None:
        """The kinds, and the namespace of the Secret."""
        for definition in definitions(self.control_plane):
            self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        self.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for plural in ("quotagroups", "resourceflavors"):
            wait_for(lambda plural=plural: self.get(f"/apis/{API_VERSION}/{plural}")[0] == 200, "its kind")  # type: ignore[misc]

    def configure(self, url: str, *values: str, quota_objects: bool = False) -> None:
        """The chart's own webhook configurations, calling `url`; without the entries for quota objects if so wished.

        `values`: further values of the chart.
        """
        process = ("webhook.deploy=false", f"webhook.url={url}", "reconciler.deploy=false")
        wishes = ",".join((*process, f"reconciler.user={RECONCILER}", *values))
        shown = [
            part for name in ("mutating", "validating") for part in ("--show-only", f"templates/webhook/{name}.yaml")
        ]
        chart = Path(__file__).parents[2] / "charts" / "quotree"
        text = self.control_plane.helm(
            "template", "quotree", str(chart), "-n", NAMESPACE, "--set", wishes, *shown
        ).stdout
        for each in yaml.load_all(text, Loader=yaml.CSafeLoader):
            if each is None:
                continue
            plural = each["kind"].lower() + "s"
            kept = [
                hook for hook in each["webhooks"] if quota_objects or "quota" not in hook["rules"][0]["apiGroups"][0]
            ]
            self.create(f"{REGISTRATION}/{plural}", {**each, "webhooks": kept})

    def start(self, **settings: Any) -> Replica:
        """One more replica; returns at once."""
        self.started += 1
        port, health = self.ports.take(), self.ports.take()
        wishes = {
            "connection": {"kubeconfig": str(self.control_plane.kubeconfig)},
            "listen": {"host": "127.0.0.1", "port": port, **settings.pop("listen", {})},
            "health": {"host": "127.0.0.1", "port": health},
            "log": {"level": "info", "form": "text"},
            "reconcilerUser": RECONCILER,
            "certificates": {"overlap": "1s"},
            "drain": "1s",
            **self.settings,
            **settings,
        }
        config = self.folder / f"webhook-{self.started}.yaml"
        config.write_text(yaml.safe_dump(wishes))
        log = self.folder / f"webhook-{self.started}.log"
        replica = Replica(self.started, port, health, launched("webhook", config, log, self.preloaded), log)
        self.replicas.append(replica)
        return replica

    def open(self, *, quota_objects: bool = False, **settings: Any) -> Replica:
        """One replica, called by the API server, ready, its authority in the configurations."""
        replica = self.start(**settings)
        self.configure(f"https://127.0.0.1:{replica.port}", quota_objects=quota_objects)
        wait_for(replica.is_ready, "the webhook is ready")
        self.wait_trusted()
        if quota_objects:
            wait_for(self._judges_groups, "the API server calls the webhook about quota objects")
        return replica

    def _judges_groups(self) -> bool:
        """Each configuration reaches the API server at a time of its own."""
        spec = {"parent": "probe-quota", "isParent": True}
        body = {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": "probe-quota"}, "spec": spec}
        status, _ = self.control_plane.rest.request("POST", f"/apis/{API_VERSION}/quotagroups?dryRun=All", body)
        return status == 422

    def wait_trusted(self) -> None:
        """Until every entry of our configurations has an authority, and the API server acts on it."""
        wait_for(lambda: all(self.bundles()), "the authorities are in the configurations")
        probe = job_body("probe", "no-such-group")
        first_true(
            lambda: self.try_job(probe)[1].endswith("(GroupAbsent)") and self._is_asked_to_mutate(),
            lambda: (
                f"the API server does not call the webhook about Jobs, and answers {self.try_job(probe)}\n{self.say()}"
            ),
            seconds=240,
        )

    def _is_asked_to_mutate(self) -> bool:
        """Each configuration reaches the API server at a time of its own, and a refusal is the validating one's."""
        running = [each for each in self.replicas if each.process.poll() is None]
        return any(sum_of(each.metrics(), REVIEWS, route="/mutate/jobs") > 0 for each in running)

    def bundles(self) -> list[str]:
        """The caBundle of every entry."""
        found = []
        for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            _, configuration = self.get(f"{REGISTRATION}/{plural}/quotree")
            found += [hook["clientConfig"].get("caBundle", "") for hook in configuration["webhooks"]]
        return found

    def close(self) -> None:
        """Kill what still runs."""
        for replica in self.replicas:
            if replica.process.poll() is None:
                replica.kill()
        self.ports.close()

    def say(self) -> str:
        """The ends of all logs, for a test that fails."""
        return "\n".join(f"--- {each.log.name}\n{each.log.read_text()[-4000:]}" for each in self.replicas)

    def get(self, path: str) -> tuple[int, Any]:
        """GET."""
        return self.control_plane.rest.request("GET", path)

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST; the object as stored."""
        status, answer = self.control_plane.rest.request("POST", path, body=body, content_type=JSON)
        assert status == 201, answer
        return dict(answer)

    def group(self, name: str, parent: str | None = None, **spec: Any) -> None:
        """A QuotaGroup, as stored while no webhook judges it."""
        body = {
            "apiVersion": API_VERSION,
            "kind": "QuotaGroup",
            "metadata": {"name": name},
            "spec": {**({"parent": parent} if parent else {}), **spec},
        }
        self.create(f"/apis/{API_VERSION}/quotagroups", body)

    def flavor(self, name: str, **spec: Any) -> None:
        """A ResourceFlavor."""
        body = {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}
        self.create(f"/apis/{API_VERSION}/resourceflavors", body)

    def try_job(self, body: Mapping[str, Any], namespace: str = "default") -> tuple[int, str]:
        """Create a Job; the HTTP status, and what the API server says when it refuses."""
        status, answer = self.control_plane.rest.request("POST", JOBS.format(namespace), body=body, content_type=JSON)
        return status, str(answer.get("message", "")) if status != 201 else ""

    def job(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """The Job as stored."""
        status, answer = self.get(f"{JOBS.format(namespace)}/{name}")
        assert status == 200, answer
        return dict(answer)


def job_body(name: str, group: str | None, **spec: Any) -> dict[str, Any]:
    """A Job of one pod that asks for one cpu and runs until it is deleted."""
    labels = {"quotree.dev/group": group} if group else {}
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": spec.pop("cpu", "1")}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **spec.pop("pod", {})}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": {**labels, **spec.pop("labels", {})},
            "annotations": spec.pop("notes", {}),
        },
        "spec": {"template": template, **spec},
    }


def wait_for(is_so: Callable[[], T], what: str, seconds: float = 240) -> T:
    """The first true answer. Fails with `what` after that many seconds."""
    return first_true(is_so, lambda: f"not seen within {seconds:g} s: {what}", seconds)


def words(process: subprocess.CompletedProcess[str]) -> str:
    """What kubectl said, refusals included, without the hook's own name in front."""
    text = process.stderr.strip() or process.stdout.strip()
    _, denied, message = text.partition("denied the request: ")
    return message if denied else text
