"""Says an explanation as lines: what matters most in a screenful, or everything."""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.json_data import Json
from shared.quota.model.tree import NAMESPACE_ACCOUNTS, WHOLE_WEIGHT
from shared.resources import write_quantity
from shared.text.forecast import start_line
from shared.text.holders import BECAUSE, folded, holder_lines, named
from shared.text.quantities import hour_unit, hours, readable
from shared.text.remedies import folded_remedies, remedy_lines
from shared.text.times import moment_text

SCREENFUL: Final = 25
"""So many lines at most, unless all are asked for."""
_FEW: Final = 3
"""So many folded holders of a flavor are listed in a screenful."""
_MISSING_RUNTIME: Final = ("missing", "used", "runtime", "min")
_RULES: Final = {
    "Reclaim": "eviction for other groups",
    "Preemption": "eviction for higher priority in its group",
    "StartupTimeout": "eviction because its pods are not ready",
    "StopPolicy": "eviction because its group is drained",
    "RunTime": "stop at the end of its run time",
}


def lines(data: Json) -> Iterator[str]:
    """Yield every line of one workload's explanation."""
    yield from _head(data)
    for flavor in data["flavors"]:
        yield from _flavor(flavor, flavor["holders"])
    yield from _with_title(remedy_lines(data["remedies"]))


def screenful(data: Json) -> list[str]:
    """Return at most SCREENFUL lines: holders and remedies that are alike are one line; the last says what is left."""
    head, remedies = [*_head(data)], [*_with_title(folded_remedies(data["remedies"]))]
    flavors: list[str] = []
    for flavor in data["flavors"]:
        holders = folded(flavor["holders"])
        flavors += _flavor(flavor, holders[:_FEW])
        if len(holders) > _FEW:
            count = sum(each.get("workloads", 1) for each in holders[_FEW:])
            flavors.append(f"  and {count} more")
    most = max(0, SCREENFUL - len(head) - len(remedies))
    if len(flavors) > most:
        kept = max(0, most - 1)
        flavors = [*flavors[:kept], f"and {len(flavors) - kept} more lines: --all"]
    return [*head, *flavors, *remedies][:SCREENFUL]


def _head(data: Json) -> Iterator[str]:
    yield data["message"]
    if data.get("leaderlessSince"):
        yield leaderless_text(data["leaderlessSince"])
    place = f", place {data['position']} in its queue" if data["position"] else ""
    entitled = " entitled," if data["entitled"] else " not entitled," if data["state"] == "Pending" else ""
    yield f"state {data['state']},{entitled} group {data['group']}{place}"
    if data.get("priority"):
        yield priority_text(data["priority"])
    if data.get("order") and data["position"]:
        yield order_text(data["order"], data["position"])
    if data.get("startsAt") and not data["remedies"] and data["state"] == "Pending":
        yield f"starts by itself at {moment_text(data['startsAt'])}"
    if data.get("forecast"):
        yield start_line(data["forecast"])
    if data.get("behind"):
        yield f"waits for {named(data['behind'])}"
    if data.get("evictions"):
        yield f"evicted {'once' if data['evictions'] == 1 else str(data['evictions']) + ' times'} so far"
    if data.get("lastEviction"):
        yield eviction_text(data["lastEviction"])
    if data.get("admission"):
        yield from running_lines(data["admission"])


def leaderless_text(since: str) -> str:
    """Return what follows from that no reconciler leads."""
    return f"no reconciler leads since {moment_text(since)}: nothing starts or stops until one does"


def priority_text(priority: Json) -> str:
    """Return which priority orders a workload, and what gives it that: `priority 100: PriorityClass high`."""
    source = f": {priority['from']}" if priority["from"] else ""
    return f"priority {priority['value']}{source}"


def order_text(order: Json, position: int) -> str:
    """Return why a workload has its place: `place 14: namespace a has used 3.10 gpu-hours of late, b 0.40`."""
    resource, (own, *others) = order["resource"], order["requesters"]
    unit = f" {hour_unit(resource)}" if resource else ""
    used = f"{requester_text(order['by'], own['name'])} has used {_hours(resource, own)}{unit} of late{_weight(own)}"
    rest = [f"{requester_text('', each['name'])} {_hours(resource, each)}{_weight(each)}" for each in others]
    return ", ".join([f"place {position}: {used}", *rest])


def requester_text(order: str, name: str) -> str:
    """Return a requester for people: `namespace team-a` or `user ann`; `order` empty: without the first word."""
    namespace = name.removeprefix(NAMESPACE_ACCOUNTS)
    if namespace != name:
        return f"accounts of namespace {namespace}"
    return f"{order.lower()} {name}".strip()


def _hours(resource: str, share: Json) -> str:
    return hours(resource, share["amount"]) if share["amount"] else "0"


def _weight(share: Json) -> str:
    return "" if share["weight"] == WHOLE_WEIGHT else f" (weight {write_quantity('cpu', share['weight'])})"


def _with_title(remedies: Iterator[str]) -> Iterator[str]:
    found: Sequence[str] = [*remedies]
    if found:
        yield ""
        yield "What would let it start, each alone:"
        yield from (f"  {each}" for each in found)


def eviction_text(last: Json) -> str:
    """Return when and why a workload was evicted, and when it starts again."""
    preemptor = f" for {last['for']}" if last.get("for") else ""
    if last.get("forGroup"):
        preemptor = f"{preemptor} of {last['forGroup']}" if preemptor else f" for a workload of {last['forGroup']}"
    rule = f" ({last['rule']})" if last.get("rule") else ""
    again = f"; starts again at {moment_text(last['notBefore'])} at the earliest" if last.get("notBefore") else ""
    failed = f"; {last['failedStarts']} starts failed" if last.get("failedStarts") else ""
    return f"evicted at {moment_text(last['at'])}: {last['reason']}{rule}{preemptor}{failed}{again}"


def running_lines(running: Json) -> Iterator[str]:
    """Yield on what the place of a running workload rests, and what could end it."""
    ground = "is within its group's runtime" if running["ground"] == "Runtime" else "runs on borrowed quota"
    yield f"it {ground}"
    if running.get("notPlaced"):
        yield f"kube-scheduler places none of its pods: their PodGroup is refused: {running['notPlaced']}"
    for each in running["keys"]:
        used, runtime = (readable(each["resource"], each[word]) for word in ("groupUsed", "groupRuntime"))
        borrowed = f", {readable(each['resource'], each['borrowed'])} of it above min" if each["borrowed"] else ""
        amount = readable(each["resource"], each["amount"])
        key = f"{each['flavor']}/{each['resource']}"
        yield f"  {key}: uses {amount}{borrowed}; its group uses {used} of a runtime of {runtime}"
    for each in running["losses"]:
        after = f", until {moment_text(each['after'])}" if each["after"] else ""
        why = f"not now: {BECAUSE[each['because']]}{after}" if each["because"] else "possible now"
        yield f"  {_RULES[each['rule']]}: {why}"


def _flavor(flavor: Json, holders: Sequence[Json]) -> Iterator[str]:
    binding = flavor["binding"]
    if missing := missing_text(flavor):
        yield f"{flavor_name(flavor)}: {missing}"
    if binding is None:
        return
    if flavor.get("entitlement"):
        yield f"  not entitled: {entitlement_text(flavor['entitlement'])}"
    kept = flavor.get("keptIdle", [])
    for each in kept[:_FEW]:
        amount = readable(binding["resource"], each["amount"])
        yield f"  {each['group']} is idle and keeps {amount} (min without lendingLimit)"
    if len(kept) > _FEW:
        yield f"  and {len(kept) - _FEW} more idle groups"
    for line in holder_lines(holders, binding["resource"]):
        yield f"  {line}"


def flavor_name(flavor: Json) -> str:
    """Return the flavor, after the pod set that would get it."""
    name = f"flavor {flavor['flavor']}"
    return f"pod set {flavor['podSet']}, {name}" if "podSet" in flavor else name


def missing_text(flavor: Json) -> str:
    """Return what is missing in a flavor, or why the workload cannot get it; empty if nothing is."""
    binding = flavor["binding"]
    if binding is None:
        return str(flavor.get("refused") or "")
    amount = readable(binding["resource"], binding["missing"])
    refused = f" ({flavor['refused']})" if flavor.get("refused") else ""
    return f"{amount} of {binding['resource']} missing in {binding['group']} ({binding['limit']}){refused}"


def entitlement_text(short: Json) -> str:
    """Return why a workload is not entitled."""
    lacks, used, runtime, least = (readable(short["resource"], short[word]) for word in _MISSING_RUNTIME)
    numbers = f"it is {runtime}, {used} is used, min is {least}"
    return f"the runtime of {short['group']} lacks {lacks} of {short['resource']}: {numbers}"
