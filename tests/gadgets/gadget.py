"""The kind Gadget: its definition, its descriptor, and an operator that knows nothing of Quotree."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import yaml

from dev.controlplane.rest import Rest

Object = dict[str, Any]
API: Final = "gadgets.example.com/v1"
OPERATOR: Final = "gadget-operator"
PATH: Final = f"/apis/{API}/namespaces/default/gadgets"
JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
PODS: Final = "/api/v1/namespaces/default/pods"
MERGE: Final = "application/merge-patch+json"

DESCRIPTOR: Final[Object] = yaml.safe_load(
    """
apiVersion: gadgets.example.com/v1
kind: Gadget
resource: gadgets
suspend: .spec.control.paused
podSets:
- each: .spec.parts[*]
  template: .template
  values: {replicas: .replicas | 1}
  count: replicas
finished: [{path: .status.phase, in: [Done]}]
operators: [gadget-operator]
children: [{apiVersion: batch/v1, kind: Job, resource: jobs}]
"""
)

DEFINITION: Final[Object] = {
    "metadata": {"name": "gadgets.gadgets.example.com"},
    "spec": {
        "group": "gadgets.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget", "singular": "gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.parts.main.replicas", "statusReplicasPath": ".status.size"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            each: {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                            for each in ("spec", "status")
                        },
                    }
                },
            }
        ],
    },
}


def gadget(name: str, group: str, *, labels: Mapping[str, str] | None = None, **parts: Object) -> Object:
    """A gadget of these parts, as its owner writes it."""
    metadata = {"name": name, "labels": {"quotree.dev/group": group, **(labels or {})}}
    return {"apiVersion": API, "kind": "Gadget", "metadata": metadata, "spec": {"parts": parts}}


def job_part(cpu: str = "1", replicas: int = 1, **simulated: str) -> Object:
    """The same, of which the operator makes a Job."""
    return {**part(cpu, replicas, **simulated), "job": True}


def part(cpu: str = "1", replicas: int = 1, **simulated: str) -> Object:
    """Pods of a gadget. `simulated`: what becomes of them, such as run_for="1s"."""
    annotations = {f"demo.quotree.dev/{name.replace('_', '-')}": text for name, text in simulated.items()}
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "replicas": replicas,
        "template": {"metadata": {"annotations": annotations}, "spec": {"containers": containers}},
    }


class Operator:
    """Makes the pods of every gadget that is not paused, deletes those of one that is, and says when it is done."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest.acting_as(OPERATOR)
        self._ends = threading.Event()
        self._loop: threading.Thread | None = None
        self.rounds: dict[str, int] = {}
        """How often it has looked at each gadget."""

    def start(self) -> None:
        """Begin, or begin again."""
        self._ends.clear()
        self._loop = threading.Thread(target=self._run, daemon=True)
        self._loop.start()

    def stop(self) -> None:
        """End at once."""
        self._ends.set()
        if self._loop is not None:
            self._loop.join(60)
        self._rest.close()

    def _run(self) -> None:
        while not self._ends.wait(0.25):
            # A loaded API server might not answer in time: then it looks again.
            with suppress(ConnectionError):
                gadgets, pods = self._rest.request("GET", PATH), self._rest.request("GET", PODS)
                if gadgets[0] == pods[0] == HTTPStatus.OK:
                    for each in gadgets[1]["items"]:
                        self._tend(each, pods[1]["items"])

    def _tend(self, seen: Object, pods: list[Object]) -> None:
        metadata = seen["metadata"]
        own = {pod["metadata"]["name"]: pod for pod in pods if _owner(pod) == metadata["uid"]}
        if seen["spec"].get("control", {}).get("paused") or "deletionTimestamp" in metadata:
            for name, pod in own.items():
                if "deletionTimestamp" not in pod["metadata"]:
                    self._rest.request("DELETE", f"{PODS}/{name}")
            for name, each in seen["spec"]["parts"].items():
                if each.get("job"):
                    path = f"{JOBS}/{metadata['name']}-{name}?propagationPolicy=Background"
                    self._rest.request("DELETE", path)
        elif seen.get("status", {}).get("phase") != "Done":
            wanted = {
                f"{metadata['name']}-{name}-{index}": each["template"]
                for name, each in seen["spec"]["parts"].items()
                if not each.get("job")
                for index in range(each["replicas"])
            }
            for name, each in seen["spec"]["parts"].items():
                if each.get("job"):
                    self._rest.request("POST", JOBS, _job(f"{metadata['name']}-{name}", each, metadata))
            for name in wanted.keys() - own.keys():
                self._rest.request("POST", PODS, _pod(name, wanted[name], metadata))
            if (
                own.keys() == wanted.keys()
                and all(_has_succeeded(pod) for pod in own.values())
                and self._jobs_done(seen)
            ):
                self._rest.request("PATCH", f"{PATH}/{metadata['name']}/status", {"status": {"phase": "Done"}}, MERGE)
        self.rounds[metadata["name"]] = self.rounds.get(metadata["name"], 0) + 1

    def _jobs_done(self, seen: Object) -> bool:
        names = [
            f"{seen['metadata']['name']}-{name}" for name, each in seen["spec"]["parts"].items() if each.get("job")
        ]
        found = [self._rest.request("GET", f"{JOBS}/{name}") for name in names]
        return all(code == HTTPStatus.OK and _is_complete(job) for code, job in found)


def _is_complete(job: Object) -> bool:
    return bool(job["status"].get("succeeded") == job["spec"]["completions"])


def _pod(name: str, template: Object, owner: Object) -> Object:
    metadata = {**template["metadata"], "name": name, "ownerReferences": [_controller(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _job(name: str, part: Object, owner: Object) -> Object:
    size = {"parallelism": part["replicas"], "completions": part["replicas"]}
    template = {**part["template"], "spec": {**part["template"]["spec"], "restartPolicy": "Never"}}
    # Without a label of its own a Job gets those of its template.
    metadata = {"name": name, "labels": {"made-by": "gadgets"}, "ownerReferences": [_controller(owner)]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**size, "template": template}}


def _controller(owner: Object) -> Object:
    return {"apiVersion": API, "kind": "Gadget", "name": owner["name"], "uid": owner["uid"], "controller": True}


def _owner(pod: Object) -> str:
    return next((each["uid"] for each in pod["metadata"].get("ownerReferences", []) if each.get("controller")), "")


def _has_succeeded(pod: Object) -> bool:
    return bool(pod["status"].get("phase") == "Succeeded")
