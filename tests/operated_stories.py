"""Stories that every governed kind with a real operator lives through, told once: each kind gives its manifest.

A manifest has two pod sets, a first one of one pod and a second one of two, and is called `train`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import yaml

from dev.controlplane.quotree import Quotree, installed
from shared.api.names import ADMISSION, UNIT_LABEL
from tests.operated import GPU, LONG, Object, Operated
from tests.reconciler.reconciler_process import wait_for

Manifest = Callable[[str, Object, Object, Mapping[str, str]], Object]
"""Namespace, template of the first set, template of the second, labels -> the object."""
STOP_TAKES: Final = {"demo.quotree.dev/stop-takes": "2s"}
FLAVORS = """
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {model: a100}}
---
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: t4}
spec: {nodeLabels: {model: t4}}
"""


@dataclass(frozen=True, slots=True)
class Governed:
    """A kind with its operator, governed by Quotree: chart, webhook and reconciler."""

    operated: Operated
    quotree: Quotree
    manifest: Manifest
    template: Callable[..., Object]
    suspend: tuple[str, ...]

    def submit(self, namespace: str, group: str, first: Object, second: Object) -> str:
        """Create the object in a managed namespace of its own; return its uid."""
        self.operated.cluster.kubectl("create", "namespace", namespace)
        self.operated.cluster.kubectl("label", "namespace", namespace, "quotree.dev/managed=true")
        stored = self.operated.create(self.manifest(namespace, first, second, {"quotree.dev/group": group}))
        assert self.is_held(stored)
        return str(stored["metadata"]["uid"])

    def is_held(self, stored: Object) -> bool:
        found: Any = stored
        for name in self.suspend:
            found = found.get(name) or {}
        return bool(found)

    def group(self, name: str, parent: str | None = None, **spec: Any) -> None:
        """Create a QuotaGroup, or replace its spec."""
        spec = {**({"parent": parent} if parent else {}), **spec}
        body = {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}
        self.operated.cluster.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(body))

    def status(self, group: str) -> Object:
        """A group's status."""
        path = f"/apis/quotree.dev/v1alpha1/quotagroups/{group}"
        return dict(self.operated.cluster.rest.request("GET", path)[1].get("status", {}))

    def used(self, group: str) -> dict[str, dict[str, str]]:
        """Flavor -> resource -> what the group uses, without zeros."""
        quotas = self.status(group).get("quotas", [])
        used = {each["flavor"]: {name: of for name, of in each["used"].items() if of != "0"} for each in quotas}
        return {flavor: of for flavor, of in used.items() if of}

    def on(self, namespace: str, node: str, unit: str) -> int:
        """How many of the object's pods are there and have not ended."""
        pods = self.operated.pods(namespace)
        return sum(each["spec"].get("nodeName") == node and _unit(each) == unit for each in pods)

    def admission(self, namespace: str) -> Object:
        """The object's admission annotation, decoded; empty without."""
        annotations = self.operated.get(namespace, "train")["metadata"].get("annotations", {})
        return dict(json.loads(annotations.get(ADMISSION, "{}")))

    def restart_operator(self) -> None:
        """As after a crash."""
        self.operated.operator.kill()
        self.operated.operator.start()


@contextmanager
def governed(
    operated: Operated,
    preset: str,
    manifest: Manifest,
    template: Callable[..., Object],
    suspend: tuple[str, ...] = ("spec", "suspend"),
) -> Iterator[Governed]:
    """Install Quotree with the preset; two flavors, by the nodes' models."""
    kind = {"preset": preset, "operators": [operated.user]}
    with installed(operated.cluster, kinds=[kind]) as quotree:
        operated.cluster.kubectl("apply", "--server-side", "-f", "-", input=FLAVORS)
        yield Governed(operated, quotree, manifest, template, suspend)


def starts_each_pod_set_on_its_flavor(it: Governed, namespace: str, done: str) -> None:
    """Held without a pod; started, all together; counted by its pods; `done` names the condition of its end, if any.

    Its pods run until they have been looked at: a pod that ends by itself might have ended before.
    """
    it.group("whole", quotas=[entry("t4", cpu=2), entry("a100", cpu=4, gpu=2)], stopPolicy="Hold")
    unit = it.submit(namespace, "whole", it.template(), it.template(gpu=1))
    wait_for(lambda: _workloads(it, "whole").get("pending") == 1, "it waits", LONG)
    assert it.operated.pods(namespace) == []
    it.group("whole", quotas=[entry("t4", cpu=2), entry("a100", cpu=4, gpu=2)])
    wait_for(lambda: it.operated.nodes(namespace) == ["a100-0", "a100-0", "t4-0"], "all run where they should", LONG)
    assert {_unit(each) for each in it.operated.pods(namespace)} == {unit}
    flavors = sorted(it.admission(namespace)["podSets"].values(), key=len)
    assert flavors == [{"cpu": "t4"}, {"cpu": "a100", GPU: "a100"}]
    used = {"t4": {"cpu": "1"}, "a100": {"cpu": "2", GPU: "2"}}
    wait_for(lambda: it.used("whole") == used, "each pod set is counted in its flavor", LONG)
    if done:
        it.operated.end_pods(namespace)
        wait_for(lambda: it.operated.condition(namespace, "train", done) == "True", "it has ended", LONG)
    else:
        it.operated.cluster.kubectl("delete", it.operated.plural, "train", "-n", namespace)
    wait_for(lambda: it.used("whole") == {}, "its quota is free", LONG)


def is_reclaimed_whole_and_starts_on_another_flavor(it: Governed, namespace: str) -> None:
    """Its operator dies while it is held, while it runs, and before it is stopped, and comes back each time."""
    own, both = [entry("t4")], [entry("t4"), entry("a100", cpu=3)]
    room = [entry("t4", cpu=3), entry("a100", cpu=3)]
    it.group("research", isParent=True, quotas=[{**each, "max": each["min"]} for each in room])
    it.group("language", "research", quotas=[entry("t4", cpu=3)], stopPolicy="Hold")
    it.group("vision", "research", quotas=own, stopPolicy="Hold")
    slow = it.template(annotations=STOP_TAKES)
    unit = it.submit(namespace, "vision", slow, slow)
    wait_for(lambda: _workloads(it, "vision").get("pending") == 1, "it waits", LONG)
    it.restart_operator()
    it.group("vision", "research", quotas=own)
    wait_for(lambda: it.operated.nodes(namespace) == ["t4-0"] * 3, "it runs on what it borrows", LONG)
    it.restart_operator()

    it.group("vision", "research", quotas=both)
    it.operated.cluster.apply(yaml.safe_dump(_lender(namespace)))
    it.operated.operator.kill()
    it.group("language", "research", quotas=[entry("t4", cpu=3)])
    wait_for(lambda: _workloads(it, "language").get("pending") == 1, "the lender waits", LONG)
    assert it.operated.jobs(namespace)["lender"]["spec"]["suspend"]
    assert it.on(namespace, "t4-0", unit) == 3
    it.operated.operator.start()

    def lent() -> bool:
        held = it.operated.jobs(namespace)["lender"]["spec"]["suspend"]
        # Asked after it: what is alive now was alive when the lender was started.
        assert held or it.on(namespace, "t4-0", unit) == 0
        return not held

    wait_for(lent, "the lender starts, after all pods have ended", LONG)
    wait_for(lambda: it.on(namespace, "a100-0", unit) == 3, "it runs again, on the other flavor", LONG)
    wait_for(lambda: it.used("vision") == {"a100": {"cpu": "3"}}, "it is counted there", LONG)


def entry(flavor: str, cpu: int = 0, gpu: int = 0) -> Object:
    """One entry of a group's quotas: its min of both resources."""
    return {"flavor": flavor, "min": {"cpu": cpu, GPU: gpu}}


def _unit(pod: Object) -> str:
    return str(pod["metadata"]["labels"].get(UNIT_LABEL, ""))


def _workloads(it: Governed, group: str) -> dict[str, int]:
    counts = it.status(group).get("workloads", {})
    return {word: number for word, number in counts.items() if word != "waiting"}


def _lender(namespace: str) -> Object:
    """A Job of three pods, for which three cpus have to be reclaimed."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "parallelism": 3,
        "completions": 3,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    metadata = {"name": "lender", "namespace": namespace, "labels": {"quotree.dev/group": "language"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
