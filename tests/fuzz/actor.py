"""One tenant at work: who it is, how it sends requests, and what became of them."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from dev.controlplane.rest import Rest
from tests.chaos.judging.history.records import JOBSET
from tests.fuzz.manifests import Body
from tests.fuzz.organisation import Tenant

MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json"
MOST_OBJECTS: Final = 25
"""How many of one kind there are in a namespace; above that a tenant deletes before it creates."""
_PREFIXES: Final = {
    "jobs": "/apis/batch/v1",
    "pods": "/api/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "limitranges": "/api/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    JOBSET.resource: f"/apis/{JOBSET.api_version}",
}


@dataclass(slots=True)
class Actor:
    """One tenant at work. `tried` counts what it did, by action and status."""

    tenant: Tenant
    rest: Rest
    random: Random
    tried: Counter[tuple[str, int]] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    """Each request in a line."""
    _number: int = 0

    def path(self, kind: str, name: str = "", subresource: str = "") -> str:
        """Where objects of that kind are."""
        parts = [f"{_PREFIXES[kind]}/namespaces/{self.tenant.namespace}/{kind}", name, subresource]
        return "/".join(filter(None, parts))

    def request(self, what: str, method: str, path: str, body: object = None, content_type: str = JSON) -> Any:
        """Send it, and note what became of it."""
        status, answer = self.rest.request(method, path, body, content_type)
        self.tried[what, status] += 1
        words = str(answer.get("message", ""))[:300] if isinstance(answer, dict) and status >= 400 else ""
        self.log.append(f"{self.tenant.name} {what}: {method} {path} {str(body)[:600]} -> {status} {words}")
        return answer

    def all(self, kind: str) -> list[Body]:
        """What there is."""
        status, found = self.rest.request("GET", self.path(kind))
        return list(found["items"]) if status == 200 else []

    def one(self, kind: str) -> Body | None:
        """Any of them."""
        found = self.all(kind)
        return self.random.choice(found) if found else None

    def new_name(self, prefix: str) -> str:
        """A name that was not used before."""
        self._number += 1
        return f"{prefix}-{self._number}"

    def delete_any(self, kind: str) -> None:
        """Delete one object, with what it owns or without."""
        found = self.one(kind)
        if found is None:
            return
        options: Body = {"propagationPolicy": self.random.choice(("Background", "Background", "Foreground", "Orphan"))}
        if self.random.random() < 0.3:
            options["gracePeriodSeconds"] = self.random.choice((0, 1))
        what = f"delete {kind} {options['propagationPolicy']}"
        self.request(what, "DELETE", self.path(kind, found["metadata"]["name"]), options)
