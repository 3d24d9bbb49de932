"""What these tests say to the cluster with the real node, and what they read back."""

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from subprocess import CompletedProcess
from typing import Any, Final

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.rest import Rest
from dev.image import facts
from dev.node.node import Node
from shared.kube.lead.holder_pods import identity_of_pod

Object = dict[str, Any]
PATIENCE: Final = 180.0
NAMESPACE: Final = "quotree-system"
IMAGE: Final = "quotree:0.1.0"
CHART: Final = str(facts.ROOT / "charts" / "quotree")
OPEN: Final = ("--set", "quota.openGroups=true", "--set", "quota.unlabelledNamespaces=Allow")
"""What these tests create names its group itself, in a namespace that is not managed."""
SLEEP: Final = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep({seconds})"
STUBBORN: Final = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep({seconds})"
LONG: Final = 3600


@dataclass(slots=True)
class Site:
    """The cluster of one real node; `figures` are printed when all tests are done."""

    node: Node
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def cluster(self) -> ControlPlane:
        return self.node.control_plane

    def kubectl(self, *words: str, text: str | None = None) -> str:
        """What kubectl prints. Raises ControlPlaneError with its words when it fails."""
        return self.cluster.kubectl(*words, input=text).stdout

    def get(self, *words: str) -> Any:
        return self.cluster.get(*words)

    def apply(self, *objects: Object) -> CompletedProcess[str]:
        """`kubectl apply --server-side` of the objects; its code tells whether they were accepted."""
        text = yaml.safe_dump_all(objects)
        return self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text, check=False)

    def submit(self, name: str, group: str, **wishes: Any) -> None:
        """Create a Job of one pod in the group; see `job`."""
        done = self.apply(job(name, group, **wishes))
        assert done.returncode == 0, done.stderr

    def job(self, name: str) -> Object:
        found: Object = self.get("job", name)
        return found

    def is_held(self, name: str) -> bool:
        return bool(self.job(name)["spec"].get("suspend"))

    def is_complete(self, name: str) -> bool:
        conditions = self.job(name).get("status", {}).get("conditions", [])
        return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)

    def running(self, *names: str) -> bool:
        """Whether each Job has a pod whose container runs."""
        return all(any(_runs(pod) for pod in self.pods_of(name)) for name in names)

    def phase(self, name: str) -> str:
        """How far a pod has come."""
        return str(self.get("pod", name)["status"].get("phase", ""))

    def pods_of(self, name: str) -> list[Object]:
        found: list[Object] = self.get("pods", "-l", f"batch.kubernetes.io/job-name={name}")["items"]
        return found

    def open_groups(self) -> None:
        """Let the installed release take workloads that name their group in a namespace that is not managed."""
        words = ("upgrade", "quotree", CHART, "--wait", "--timeout", "180s", "--reset-then-reuse-values")
        self.helm(*words, *OPEN)

    def pods(self, component: str) -> list[Object]:
        """Quotree's own pods of a component, also those that are being deleted and may still answer."""
        listed: list[Object] = self.get("pods", "-n", NAMESPACE, "-l", f"app.kubernetes.io/component={component}")[
            "items"
        ]
        return listed

    def scraper(self) -> str:
        """The token of an account that may read the metrics, as docs/operations.md says."""
        names = ("scraper", "--namespace", "default")
        self.cluster.kubectl("create", "serviceaccount", *names, check=False)
        role = ("--clusterrole=quotree-metrics-reader", "--serviceaccount=default:scraper")
        self.cluster.kubectl("create", "clusterrolebinding", "scraper", *role, check=False)
        may = ("auth", "can-i", "get", "/metrics", "--as=system:serviceaccount:default:scraper")
        self.until("it may", lambda: self.cluster.kubectl(*may, check=False).stdout.strip() == "yes")
        return self.kubectl("create", "token", *names, "--duration=1h").strip()

    def scrape(self, pod: Object, token: str) -> tuple[int, str]:
        """The status and the text of a pod's metrics, asked at its own address."""
        url = f"https://{pod['status']['podIP']}:8443/metrics"
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, headers=headers), timeout=10, context=tls
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def ready(self, component: str, replicas: int = 2) -> bool:
        """Whether so many pods of the component are Ready, and no other is there."""
        pods = self.pods(component)
        return len(pods) == replicas and all(
            is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods
        )

    def settle(self) -> None:
        """Wait until Quotree's pods are ready and those of before are gone."""
        self.until("all pods of Quotree are ready", lambda: self.ready("webhook") and self.ready("reconciler"))

    def leader(self) -> str:
        """The name of the pod that leads."""
        lease = self.get("lease", "quotree-reconciler", "-n", NAMESPACE)
        return str(lease["spec"].get("holderIdentity") or "").removeprefix(identity_of_pod("")).partition("_")[0]

    def until(self, what: str, seen: Callable[[], bool], patience: float = PATIENCE) -> float:
        """Wait until it is seen; the seconds that took. Fails with Quotree's last words when it is not."""
        started = time.monotonic()
        while not seen():
            if time.monotonic() - started > patience:
                raise AssertionError(f"not seen within {patience:.0f} s: {what}\n{self.last_words()}")
            time.sleep(0.1)
        return time.monotonic() - started

    def last_words(self) -> str:
        """The logs of Quotree's pods and the latest events."""
        lines = [
            self.cluster.kubectl(
                "logs",
                "-n",
                NAMESPACE,
                "-l",
                f"app.kubernetes.io/component={component}",
                "--tail=15",
                "--prefix",
                check=False,
            ).stdout
            for component in ("webhook", "reconciler")
        ]
        events = self.cluster.kubectl("get", "events", "-A", "--sort-by=.lastTimestamp", check=False).stdout
        return "\n".join([*lines, *events.splitlines()[-20:]])

    def client(self) -> Rest:
        """A connection of its own as the admin, for a thread that asks while the test does something else."""
        host, _, port = self.cluster.url.removeprefix("https://").partition(":")
        return Rest(host, int(port), self.cluster.ca_file, self.cluster.token)

    def clear(self) -> None:
        """Delete all Jobs and pods of namespace default and wait until they are gone."""
        self.kubectl("delete", "jobs,pods", "--all", "--cascade=foreground", "--wait=true", "--grace-period=1")
        self.until("no pod is left", lambda: not self.get("pods")["items"])

    def helm(self, *words: str, check: bool = True) -> CompletedProcess[str]:
        return self.cluster.helm(*words, "--namespace", NAMESPACE, check=check, timeout=300)


def job(
    name: str,
    group: str | None,
    *,
    cpu: str = "200m",
    program: str = SLEEP,
    seconds: float = LONG,
    grace: int = 5,
    **spec: Any,
) -> Object:
    """A Job of one pod that runs a Python program in a real container; `seconds` is put into the program."""
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["python", "-IS", "-c", program.format(seconds=seconds)],
        "resources": {"requests": {"cpu": cpu, "memory": "16Mi"}},
    }
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": grace, "containers": [container]}
    labels = {"quotree.dev/group": group} if group else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}, **spec},
    }


def pod(name: str, group: str, *, cpu: str = "200m", seconds: float = LONG) -> Object:
    """A plain pod that runs what `job` runs."""
    of_job = job(name, group, cpu=cpu, seconds=seconds)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": of_job["metadata"],
        "spec": of_job["spec"]["template"]["spec"],
    }


def group(name: str, **spec: Any) -> Object:
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


def is_ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _runs(pod: Object) -> bool:
    states = pod.get("status", {}).get("containerStatuses", [])
    return "deletionTimestamp" not in pod["metadata"] and any("running" in each["state"] for each in states)
