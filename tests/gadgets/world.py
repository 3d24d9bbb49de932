"""What a test does with gadgets, and what it sees of them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from dev.controlplane.quotree import Quotree
from dev.controlplane.rest import Rest
from tests.gadgets.gadget import JOBS, MERGE, PATH, PODS, Object, Operator
from tests.reconciler.reconciler_process import LEASES, wait_for

TREE: Final = """
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {model: a100}}
---
apiVersion: quotree.dev/v1alpha1
kind: ResourceFlavor
metadata: {name: t4}
spec: {nodeLabels: {model: t4}}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: lab}
spec: {isParent: true, quotas: [{flavor: t4, min: {cpu: 4}}, {flavor: a100, min: {cpu: 4}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: red}
spec: {parent: lab, quotas: [{flavor: t4, min: {cpu: 1}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: blue}
spec: {parent: lab, quotas: [{flavor: t4, min: {cpu: 3}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: green}
spec: {parent: lab, quotas: [{flavor: t4, min: {cpu: 0}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: both}
spec: {parent: lab, quotas: [{flavor: a100, min: {cpu: 2}, max: {cpu: 2}}, {flavor: t4, min: {cpu: 0}}]}
"""
LONG: Final = 240.0


@dataclass(frozen=True, slots=True)
class World:
    """A cluster whose gadgets are governed."""

    quotree: Quotree
    operator: Operator
    alice: Rest
    """A tenant who may do everything with gadgets, Jobs and pods."""

    @property
    def rest(self) -> Rest:
        """As the administrator."""
        return self.quotree.cluster.rest

    def create(self, body: Object) -> Object:
        """As alice; the gadget as stored."""
        status, answer = self.alice.request("POST", PATH, body)
        assert status == 201, answer
        return dict(answer)

    def get(self, name: str) -> Object:
        return dict(self.rest.request("GET", f"{PATH}/{name}")[1])

    def change(self, name: str, body: Object) -> None:
        """As alice, by merge patch."""
        status, answer = self.alice.request("PATCH", f"{PATH}/{name}", body, MERGE)
        assert status == 200, answer

    def is_paused(self, name: str) -> bool:
        return bool(self.get(name)["spec"].get("control", {}).get("paused"))

    def is_done(self, name: str) -> bool:
        return bool(self.get(name).get("status", {}).get("phase") == "Done")

    def pods(self, name: str) -> list[Object]:
        """The gadget's pods that have not ended."""
        found = self.rest.request("GET", PODS)[1]["items"]
        mine = [each for each in found if each["metadata"]["name"].startswith(f"{name}-")]
        return [each for each in mine if each["status"]["phase"] in ("Pending", "Running")]

    def nodes(self, name: str) -> list[str]:
        """The nodes of these, sorted; empty for pods without."""
        return sorted(each["spec"].get("nodeName", "") for each in self.pods(name))

    def group(self, name: str) -> Object:
        return dict(self.rest.request("GET", f"/apis/quotree.dev/v1alpha1/quotagroups/{name}")[1])

    def used(self, group: str, flavor: str) -> str:
        """What the group's status says it uses of cpu in the flavor."""
        quotas = self.group(group).get("status", {}).get("quotas", [])
        return next((str(each.get("used", {}).get("cpu", "0")) for each in quotas if each["flavor"] == flavor), "?")

    @contextmanager
    def labelled(self, labels: Mapping[str, str]) -> Iterator[None]:
        """Have these labels on the namespace; without them afterwards."""
        path = "/api/v1/namespaces/default"
        self.rest.request("PATCH", path, {"metadata": {"labels": dict(labels)}}, MERGE)
        try:
            yield
        finally:
            self.clear()
            self.rest.request("PATCH", path, {"metadata": {"labels": dict.fromkeys(labels)}}, MERGE)

    def until(self, what: str, seen: Callable[[], object]) -> None:
        """Wait until it is so; fail with the last words of the processes."""
        try:
            wait_for(seen, what, LONG)
        except AssertionError as error:
            processes = (*self.quotree.reconcilers, *self.quotree.webhooks)
            logs = "\n".join(each.log_tail()[-3000:] for each in processes)
            raise AssertionError(f"{error}\n{logs}") from None

    def looked_at(self, name: str) -> None:
        """Wait until the operator has looked at the gadget twice more."""
        rounds = self.operator.rounds.get(name, 0) + 2
        self.until(f"the operator has looked at {name}", lambda: self.operator.rounds.get(name, 0) >= rounds)

    def kill_reconciler(self) -> None:
        """Kill it and start it again; its Lease is taken away, so that the next one need not wait for its end."""
        (reconciler,) = self.quotree.reconcilers
        reconciler.kill()
        self.rest.request("DELETE", f"{LEASES}/quotree-reconciler")
        reconciler.start()

    def events(self, name: str) -> set[str]:
        """The reasons of Quotree's events about the gadget."""
        items: list[Any] = self.rest.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
        return {
            str(each["reason"])
            for each in items
            if each["regarding"].get("kind") == "Gadget" and each["regarding"].get("name") == name
        }

    def clear(self) -> None:
        """Delete all gadgets, Jobs and pods."""
        for path in (PATH, JOBS, PODS):
            self.rest.request("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        self.until(
            "all is gone", lambda: not any(self.rest.request("GET", each)[1]["items"] for each in (PATH, JOBS, PODS))
        )
