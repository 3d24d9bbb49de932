"""Names of objects in the visibility API, and what is hidden from a tenant: names of workloads in other namespaces."""

from collections.abc import Iterable

from shared.json_data import Json
from shared.quota.model.workload import Workload, namespace_of


def object_name(workload: Workload) -> str:
    """The name of the object: a Job's own name; other kinds have the kind as suffix, because names can be equal."""
    name = workload.key.partition("/")[2]
    return name if workload.kind == "Job" else f"{name}.{workload.kind.lower()}"


def is_called(workload: Workload, name: str) -> bool:
    """Return whether `name` in a request can mean this workload: the kind is optional."""
    return name in (object_name(workload), workload.key.partition("/")[2])


def redacted(data: Json, namespace: str) -> Json:
    """Return an explanation for users of `namespace`: use of others is summed by group, without names.

    Its message never names a workload of another namespace.
    """
    found = {
        **data,
        "flavors": [{**flavor, "holders": _sum_others(flavor["holders"], namespace)} for flavor in data["flavors"]],
        "remedies": _without_others(data["remedies"], namespace),
    }
    last = data.get("lastEviction")
    if last is not None and namespace_of(last.get("for") or f"{namespace}/") != namespace:
        found["lastEviction"] = {name: value for name, value in last.items() if name != "for"}
    if "behind" in data and namespace_of(data["behind"]["workload"]) != namespace:
        found["behind"] = {name: value for name, value in data["behind"].items() if name != "workload"}
    if "order" in data:
        found["order"] = {**data["order"], "requesters": data["order"]["requesters"][:1]}
    return found


def _sum_others(holders: Iterable[Json], namespace: str) -> list[Json]:
    kept: list[Json] = []
    sums: dict[str, Json] = {}
    for holder in holders:
        if namespace_of(holder["workload"]) == namespace:
            foreign = namespace_of(holder.get("claimedBy") or f"{namespace}/") != namespace
            kept.append({name: value for name, value in holder.items() if not (foreign and name == "claimedBy")})
            continue
        group = holder["group"]
        if group not in sums:
            sums[group] = {"group": group, "workloads": 0, "amount": 0, "borrowed": 0, "recyclable": False}
            kept.append(sums[group])
        found = sums[group]
        found["workloads"] += 1
        found["amount"] += holder["amount"]
        found["borrowed"] += holder["borrowed"]
        found["recyclable"] = found["recyclable"] or holder["recyclable"]
    return sorted(kept, key=lambda each: -int(each["amount"]))


def _without_others(remedies: Iterable[Json], namespace: str) -> list[Json]:
    found: list[Json] = []
    for remedy in remedies:
        own = namespace_of(remedy.get("workload", f"{namespace}/")) == namespace
        told = {name: value for name, value in remedy.items() if own or name != "workload"}
        if "and" in told:
            told["and"] = _without_others(told["and"], namespace)
        if told not in found:
            found.append(told)
    return found
