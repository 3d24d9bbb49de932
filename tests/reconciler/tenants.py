"""Tenants: users with Kubernetes' own role `edit` in the namespace `default`, and what they do to their objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dev.controlplane.rest import Rest
from tests.reconciler.reconciler_process import JSON, MERGE, Quotree

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
ANNOTATIONS_LIMIT = 256 * 1024
"""Bytes of all names and values together that the API server stores on one object."""


@dataclass(slots=True)
class Tenant:
    """One such user."""

    rest: Rest

    @classmethod
    def of(cls, q: Quotree, name: str = "tenant") -> Self:
        """Give the user its role."""
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"{name}-edits"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
        }
        if q.control_plane.rest.request("GET", f"{BINDINGS}/{name}-edits")[0] != 200:
            q.create(BINDINGS, binding)
        return cls(q.control_plane.rest.acting_as(name))

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        """POST."""
        status, answer = self.rest.request("POST", path, body=body, content_type=JSON)
        assert status == 201, answer

    def merge(self, path: str, body: Mapping[str, Any]) -> None:
        """PATCH, as merge patch."""
        status, answer = self.rest.request("PATCH", path, body=body, content_type=MERGE)
        assert status == 200, answer

    def delete(self, path: str, propagation: str = "Background") -> None:
        """DELETE."""
        status, answer = self.rest.request("DELETE", path, body={"propagationPolicy": propagation}, content_type=JSON)
        assert status in (200, 202), answer

    def fill_annotations(self, path: str) -> None:
        """Leave no byte for another annotation."""
        status, found = self.rest.request("GET", path)
        assert status == 200, found
        taken = sum(len(name) + len(text) for name, text in found["metadata"].get("annotations", {}).items())
        self.merge(path, {"metadata": {"annotations": {"fill": "x" * (ANNOTATIONS_LIMIT - taken - len("fill"))}}})
