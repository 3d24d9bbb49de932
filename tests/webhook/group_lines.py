"""Groups drawn as a line of `tests.trees`, and every way of asking the API server for one."""

from collections.abc import Mapping
from typing import Any

from dev.controlplane.cluster import ControlPlane
from shared.api.names import API_VERSION
from shared.percents import write_percent
from shared.quota.model.tree import ROOT, Entry, Group
from shared.resources import write_quantity
from tests.trees import group, tree

GROUPS = f"/apis/{API_VERSION}/quotagroups"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def body_of(drawn: Group) -> dict[str, Any]:
    def written(entry: Entry, field: str) -> dict[str, str]:
        amounts: Mapping[str, int] = getattr(entry, field)
        percents = entry.percents.get(field, {})
        as_amounts = {resource: write_quantity(resource, amount) for resource, amount in amounts.items()}
        return as_amounts | {resource: write_percent(percent) for resource, percent in percents.items()}

    limits = {"min": "min", "max": "max", "borrowingLimit": "borrowing_limit", "lendingLimit": "lending_limit"}
    quotas = [
        {
            "flavor": entry.flavor,
            **{
                key: written(entry, field)
                for key, field in (*limits.items(), ("weight", "weight"))
                if entry.named(field)
            },
        }
        for entry in drawn.quotas
    ]
    spec = {"isParent": drawn.is_parent, "quotas": quotas}
    if drawn.parent not in (None, ROOT):
        spec["parent"] = str(drawn.parent)
    return {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": drawn.name}, "spec": spec}


def apply(control_plane: ControlPlane, body: dict[str, Any]) -> tuple[int, Any]:
    """Server-side apply, always by the same manager: what it had and has no longer goes."""
    own = f"{GROUPS}/{body['metadata']['name']}?fieldManager=person&force=true"
    return control_plane.rest.request("PATCH", own, body, APPLY)


def store(control_plane: ControlPlane, text: str) -> None:
    for drawn in tree(text).groups.values():
        if drawn.name != ROOT or drawn.quotas:
            code, message = apply(control_plane, body_of(drawn))
            assert code == 201, message


def ask(control_plane: ControlPlane, line: str, *, dry_run: bool = True) -> tuple[int, str]:
    """Create or replace the group; code and message."""
    body = body_of(group(line))
    name = body["metadata"]["name"]
    query = "?dryRun=All" if dry_run else ""
    code, found = control_plane.rest.request("GET", f"{GROUPS}/{name}")
    if code == 200:
        body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
        code, message = control_plane.rest.request("PUT", f"{GROUPS}/{name}{query}", body)
    else:
        code, message = control_plane.rest.request("POST", GROUPS + query, body)
    return code, message.get("message", "")


def ask_in_every_way(control_plane: ControlPlane, line: str) -> dict[str, tuple[int, str]]:
    """Create or change the group for good by each kind of request; code and message of each."""
    body = body_of(group(line))
    own = f"{GROUPS}/{body['metadata']['name']}"
    ways: dict[str, tuple[str, str, Any, str]] = {}
    if control_plane.rest.request("GET", own)[0] == 200:
        spec = {"parent": None, **body["spec"]}
        replaced = [{"op": "replace", "path": "/spec", "value": body["spec"]}]
        ways["merge patch"] = ("PATCH", own, {"spec": spec}, MERGE)
        ways["JSON patch"] = ("PATCH", own, replaced, "application/json-patch+json")
    answers = {"dry run": ask(control_plane, line), "create or replace": ask(control_plane, line, dry_run=False)}
    for way, request in ways.items():
        code, message = control_plane.rest.request(*request)
        answers[way] = code, message.get("message", "")
    code, message = apply(control_plane, body)
    answers["server-side apply"] = code, message.get("message", "")
    return answers


def denied(text: str) -> tuple[int, str]:
    return 422, f'admission webhook "quotagroups.quotree.dev" denied the request: {text}'
