"""Read the visibility API with the user's rights: in the whole cluster where that is allowed, else in one namespace.

Raises NotServed where the API is off or does not answer, and NotAllowed: then the caller computes the answer itself.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from cli.read.cluster.live import LiveCluster, NotAllowed, NotServed
from shared.api.api_service import VISIBILITY_GROUP, VISIBILITY_VERSION
from shared.cluster.leader_past_use import past_use_in
from shared.json_data import Json
from shared.problems import Problem
from shared.quota.measure.inputs.world import PastUse

T = TypeVar("T")

_BASE: Final = f"/apis/{VISIBILITY_GROUP}/{VISIBILITY_VERSION}"
_EMPTY: Final = {"binding": "", "flavor": "", "resource": ""}
"""Members of a row that the API leaves out when they are empty."""
_STAMP: Final = ("asOf", "servedBy", "amount")
"""Members of an object that no row has."""
_ALWAYS: Final[Json] = {"reason": None, "startsAt": None, "flavors": [], "remedies": [], "position": 0}
"""Members of an explanation that the API leaves out when they are absent."""


def served_or_computed(cluster: LiveCluster, served: Callable[[], T], computed: Callable[[], T]) -> T:
    """Return what the API answers; where it is off or refuses, what the user can compute.

    Raises the API's NotAllowed if the user has the rights for neither; where the API is off, Problem with those that
    are missing.
    """
    refused: NotAllowed | None = None
    try:
        return served()
    except NotServed:
        pass
    except NotAllowed as problem:
        refused = problem
    try:
        return computed()
    except NotAllowed as missing:
        if refused is not None and _is_served(cluster):
            raise refused from None
        other = "the visibility API, where it is on, needs none of this; a workload's events say why it waits, too"
        raise Problem(f"{missing}; {other}") from missing


def _is_served(cluster: LiveCluster) -> bool:
    """Ask discovery, which all users can read: without rights, an API that is off is forbidden like any other."""
    try:
        cluster.get(_BASE)
    except NotServed:
        return False
    except NotAllowed:
        pass
    return True


def read_explanation(cluster: LiveCluster, key: str, kind: str) -> Json | None:
    """Return the explanation of namespace/name (`kind`: of one kind only); None for a workload that is not there."""
    namespace, _, name = key.partition("/")
    name = f"{name}.{kind.lower()}" if kind and kind.lower() != "job" else name
    try:
        fields = f"metadata.namespace={namespace},metadata.name={name}"
        found = _statuses(cluster, f"{_BASE}/explanations?fieldSelector={quote(fields)}")
    except NotAllowed:
        path = f"{_BASE}/namespaces/{quote(namespace)}/explanations"
        found = _statuses(cluster, f"{path}?fieldSelector={quote(f'metadata.name={name}')}")
    return _ALWAYS | found[0] if found else None


def read_group_explanation(cluster: LiveCluster, name: str) -> Json:
    """Return how a group comes to its runtime, and its budgets."""
    status = msgspec.json.decode(cluster.get(f"{_BASE}/groupexplanations/{quote(name)}"))["status"]
    parts = {"division": status.get("division", []), "budgets": status.get("budgets", [])}
    return {"group": name, "amended": status.get("amended", ""), **parts}


def read_previews(cluster: LiveCluster, namespace: str, objects: Iterable[Json]) -> list[Json]:
    """Return what would become of these objects if they were created now."""
    body = {"apiVersion": _BASE.removeprefix("/apis/"), "kind": "StartPreview", "spec": {"apply": [*objects]}}
    answer = cluster.create(f"{_BASE}/namespaces/{quote(namespace)}/startpreviews", body)
    found: list[Json] = msgspec.json.decode(answer)["status"]["workloads"]
    return found


def read_past_use(cluster: LiveCluster) -> PastUse | None:
    """Return the past use of groups from the leader; None if it does not answer."""
    try:
        found = cluster.items(f"{_BASE}/groupexplanations")
    except (NotServed, NotAllowed):
        return None
    return past_use_in(found)


def read_pending(cluster: LiveCluster, namespace: str | None, groups: Iterable[str] | None) -> list[Json]:
    """Return the pending workloads of a namespace or all, in these groups or all: by group, then by position."""
    path = f"/namespaces/{quote(namespace)}" if namespace else ""
    found = [_row(status) for status in _statuses(cluster, f"{_BASE}{path}/pendingworkloads")]
    wanted = None if groups is None else set(groups)
    return [each for each in found if wanted is None or each["group"] in wanted]


def _row(status: Json) -> Json:
    """Return the object's status as the row that a command computes: the missing amount is a number."""
    told = {name: value for name, value in status.items() if name not in _STAMP}
    return {**_EMPTY, **told, "missing": status.get("amount", 0)}


def _statuses(cluster: LiveCluster, path: str) -> list[Json]:
    return [_status(msgspec.json.decode(raw)) for raw in cluster.items(path)]


def _status(item: Json) -> Json:
    metadata, status = item["metadata"], item["status"]
    kind = status.get("kind", "Job")
    name = metadata["name"] if kind == "Job" else metadata["name"].removesuffix(f".{kind.lower()}")
    return {"workload": f"{metadata['namespace']}/{name}", **status}
