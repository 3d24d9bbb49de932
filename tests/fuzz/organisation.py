"""Where the tenants work: nodes, a tree, a namespace for each tenant, and the role `edit` in it and nowhere else."""

import time
from dataclasses import dataclass
from typing import Any, Final

from dev.controlplane.cluster import ControlPlane, NodeSpec
from dev.controlplane.flags import DEFAULT_CONTROLLERS
from dev.controlplane.rest import Rest
from shared.api.names import API_VERSION, GROUP_LABEL, MANAGED_LABEL
from tests.chaos.judging.history.records import JOBSET

CONTROLLERS: Final = (*DEFAULT_CONTROLLERS, "replicaset-controller", "deployment-controller")
NODES: Final = tuple(
    NodeSpec(f"node-{number}", allocatable={"cpu": "12", "memory": "64Gi", "pods": "500"}) for number in range(2)
)
CPUS: Final = 24
JOBSETS: Final = "edit-jobsets"
PRIORITIES: Final = {"low": 100, "high": 1000}


@dataclass(frozen=True, slots=True)
class Tenant:
    """A user, its namespace, and the groups that it knows of."""

    name: str
    namespace: str
    group: str
    """The group of its namespace; empty: it names a group itself."""
    groups: tuple[str, ...]
    comes_later: bool = False
    """Whether its namespace is without any label of Quotree's until the administrator brings it in."""

    def rest(self, control_plane: ControlPlane) -> Rest:
        """Requests that the API server judges as this user's."""
        return control_plane.rest.acting_as(self.name)


TENANTS: Final = (
    Tenant("red", "team-red", "red", ("red", "blue", "nowhere")),
    Tenant("blue", "team-blue", "blue", ("blue", "green-a", "root", "system")),
    Tenant("green", "team-green", "", ("green-a", "green-b", "green", "red")),
    Tenant("yellow", "team-yellow", "yellow", ("yellow", "red"), comes_later=True),
)


ADMINISTRATOR: Final = Tenant("admin", "team-red", "red", ("red",))


def build(control_plane: ControlPlane) -> None:
    """All of it."""
    rest = control_plane.rest
    for name, value in PRIORITIES.items():
        # What the scheduler itself takes from pods for others is no business of Quotree's.
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
        _create(rest, "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    for tenant in TENANTS:
        labels = {"team": tenant.name, **({} if tenant.comes_later else own_labels(tenant))}
        _create(rest, "/api/v1/namespaces", {"metadata": {"name": tenant.namespace, "labels": labels}})
        for role in ("edit", JOBSETS):
            path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{tenant.namespace}/rolebindings"
            _create(rest, path, _binding(tenant, role))
        editor = {"metadata": {"name": f"edit-{tenant.name}"}, "rules": [_editing(tenant)]}
        _create(rest, "/apis/rbac.authorization.k8s.io/v1/clusterroles", editor)
        _create(rest, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _editors_binding(tenant))
    _create(rest, "/apis/rbac.authorization.k8s.io/v1/clusterroles", _JOBSETS_ROLE)
    few = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "6"}}}
    _create(rest, "/api/v1/namespaces/team-yellow/resourcequotas", few)
    defaults = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "500m"}}]}
    _create(rest, "/api/v1/namespaces/team-green/limitranges", {"metadata": {"name": "defaults"}, "spec": defaults})
    _group(rest, "red", min=8, max=12)
    _group(rest, "blue", min=8, max=20)
    _group(rest, "yellow", min=0, max=6)
    _group(rest, "green", is_parent=True, min=6, max=16)
    _group(rest, "green-a", "green", min=4, max=8)
    _group(rest, "green-b", "green", min=2, max=16)


def own_labels(tenant: Tenant) -> dict[str, str]:
    """The labels by which its namespace is managed."""
    return {GROUP_LABEL: tenant.group} if tenant.group else {MANAGED_LABEL: "true"}


def bring_in(rest: Rest) -> dict[str, str]:
    """Label the namespaces that come later; return their groups by their names."""
    late = [each for each in TENANTS if each.comes_later]
    for each in late:
        body = {"metadata": {"labels": own_labels(each)}}
        status, answer = rest.request(
            "PATCH", f"/api/v1/namespaces/{each.namespace}", body, "application/merge-patch+json"
        )
        assert status == 200, answer
    return {each.namespace: each.group for each in late}


def latest_revision(rest: Rest) -> int:
    """The revision of a list of now."""
    return int(rest.request("GET", "/api/v1/namespaces")[1]["metadata"]["resourceVersion"])


def _editing(tenant: Tenant) -> dict[str, Any]:
    """The documented role of a leaf's editor, for the group of its own."""
    names = [tenant.group or tenant.groups[0]]
    verbs = ["get", "update", "patch"]
    return {"apiGroups": ["quotree.dev"], "resources": ["quotagroups"], "resourceNames": names, "verbs": verbs}


def _editors_binding(tenant: Tenant) -> dict[str, Any]:
    name = f"edit-{tenant.name}"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": tenant.name}],
    }


_JOBSETS_ROLE: Final = {
    "metadata": {"name": JOBSETS},
    "rules": [{"apiGroups": [JOBSET.group], "resources": [JOBSET.resource], "verbs": ["*"]}],
}
"""What JobSet's own role for editors lets do."""


def _binding(tenant: Tenant, role: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"tenant-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": tenant.name}],
    }


def _group(rest: Rest, name: str, parent: str = "root", *, is_parent: bool = False, **limits: int) -> None:
    """A group that takes workloads from its own team's namespace alone."""
    spec = {
        "parent": parent,
        "isParent": is_parent,
        "quotas": [{each: {"cpu": str(cpu)} for each, cpu in limits.items()}],
        "namespaceSelector": {"matchLabels": {"team": name.partition("-")[0]}},
    }
    body = {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}
    _create(rest, f"/apis/{API_VERSION}/quotagroups", body)


def _create(rest: Rest, path: str, body: dict[str, Any]) -> None:
    """The webhook might not have its certificate yet, or a parent might not be seen yet: try again."""
    ends = time.monotonic() + 60
    while (answer := rest.request("POST", path, body))[0] not in (201, 409):
        if time.monotonic() > ends:
            raise AssertionError(f"{path} was refused: {answer}")
        time.sleep(0.2)
