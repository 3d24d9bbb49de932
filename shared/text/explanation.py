"""Prints an explanation as text."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.text.quantities import readable

_SHOWN: Final = 8
"""How many holders of a flavor are listed before the count of the others."""
_BECAUSE: Final = {
    "Evicting": "is being evicted",
    "NotPreemptible": "is not preemptible",
    "ExemptAfterStart": "has started too recently",
    "NotLowerPriority": "has no lower priority",
    "PreemptionNever": "its group does not preempt",
    "WithinRuntime": "its group is within its runtime",
    "GracePeriod": "its group's grace period is not over",
    "Notice": "must be given notice first",
    "NotEntitled": "the workload that waits is not entitled",
    "NotReadyYet": "its pods still have time to become ready",
}
_MISSING_RUNTIME: Final = ("missing", "used", "runtime", "min")
_RULES: Final = {
    "Reclaim": "eviction for other groups",
    "Preemption": "eviction for higher priority in its group",
    "StartupTimeout": "eviction because its pods are not ready",
    "StopPolicy": "eviction because its group is drained",
}


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one workload's explanation."""
    yield data["message"]
    place = f", place {data['position']} in its queue" if data["position"] else ""
    entitled = " entitled," if data["entitled"] else " not entitled," if data["state"] == "Pending" else ""
    yield f"state {data['state']},{entitled} group {data['group']}{place}"
    if data.get("startsAt") and not data["remedies"] and data["state"] == "Pending":
        yield f"starts by itself at {data['startsAt']}"
    if data.get("behind"):
        yield f"waits for {_named(data['behind'])}"
    if data.get("evictions"):
        yield f"evicted {'once' if data['evictions'] == 1 else str(data['evictions']) + ' times'} so far"
    if data.get("lastEviction"):
        yield _eviction(data["lastEviction"])
    if data.get("admission"):
        yield from _running(data["admission"])
    for flavor in data["flavors"]:
        yield from _flavor(flavor)
    if data["remedies"]:
        yield ""
        yield "What would let it start, each alone:"
        for each in data["remedies"]:
            yield f"  {_remedy(each)}"


def _eviction(last: Mapping[str, Any]) -> str:
    preemptor = f" for {last['for']}" if last.get("for") else ""
    if last.get("forGroup"):
        preemptor = f"{preemptor} of {last['forGroup']}" if preemptor else f" for a workload of {last['forGroup']}"
    rule = f" ({last['rule']})" if last.get("rule") else ""
    again = f"; starts again at {last['notBefore']} at the earliest" if last.get("notBefore") else ""
    failed = f"; {last['failedStarts']} starts failed" if last.get("failedStarts") else ""
    return f"evicted at {last['at']}: {last['reason']}{rule}{preemptor}{failed}{again}"


def _running(running: Mapping[str, Any]) -> Iterator[str]:
    ground = "is within its group's runtime" if running["ground"] == "Runtime" else "runs on borrowed quota"
    yield f"it {ground}"
    for each in running["keys"]:
        used, runtime = (readable(each["resource"], each[word]) for word in ("groupUsed", "groupRuntime"))
        borrowed = f", {readable(each['resource'], each['borrowed'])} of it above min" if each["borrowed"] else ""
        amount = readable(each["resource"], each["amount"])
        key = f"{each['flavor']}/{each['resource']}"
        yield f"  {key}: uses {amount}{borrowed}; its group uses {used} of a runtime of {runtime}"
    for each in running["losses"]:
        after = f", until {each['after']}" if each["after"] else ""
        why = f"not now: {_BECAUSE[each['because']]}{after}" if each["because"] else "possible now"
        yield f"  {_RULES[each['rule']]}: {why}"


def _flavor(flavor: Mapping[str, Any]) -> Iterator[str]:
    binding, name = flavor["binding"], f"flavor {flavor['flavor']}"
    if "podSet" in flavor:
        name = f"pod set {flavor['podSet']}, {name}"
    if binding is None:
        if flavor.get("refused"):
            yield f"{name}: {flavor['refused']}"
        return
    amount = readable(binding["resource"], binding["missing"])
    refused = f" ({flavor['refused']})" if flavor.get("refused") else ""
    missing = f"{amount} of {binding['resource']} missing in {binding['group']} ({binding['limit']}){refused}"
    yield f"{name}: {missing}"
    if flavor.get("entitlement"):
        short = flavor["entitlement"]
        yield f"  not entitled: {_missing_runtime(short)}"
    for each in flavor["holders"][:_SHOWN]:
        yield f"  {_holder(each, binding['resource'])}"
    if len(flavor["holders"]) > _SHOWN:
        yield f"  and {len(flavor['holders']) - _SHOWN} more"


def _missing_runtime(short: Mapping[str, Any]) -> str:
    lacks, used, runtime, least = (readable(short["resource"], short[word]) for word in _MISSING_RUNTIME)
    numbers = f"it is {runtime}, {used} is used, min is {least}"
    return f"the runtime of {short['group']} lacks {lacks} of {short['resource']}: {numbers}"


def _named(other: Mapping[str, Any]) -> str:
    """Return the name of a workload; for one in another namespace its group, and for several the number."""
    if other.get("workload"):
        return f"{other['workload']} of {other['group']}"
    count = other.get("workloads", 1)
    return f"{count} workloads of {other['group']}" if count > 1 else f"a workload of {other['group']}"


def _holder(holder: Mapping[str, Any], resource: str) -> str:
    borrowed = f", {readable(resource, holder['borrowed'])} of it borrowed" if holder["borrowed"] else ""
    stays = f": stays, {_BECAUSE[holder['because']]}" if holder.get("because") else ""
    stays = stays or (": can be recycled" if holder["recyclable"] else ": stays")
    until = f" until {holder['until']}" if holder.get("until") else ""
    until += f" for {holder['claimedBy']}" if holder.get("claimedBy") else ""
    amount = readable(resource, holder["amount"])
    hold = "hold" if holder.get("workloads", 1) > 1 else "holds"
    return f"{_named(holder)} {hold} {amount}{borrowed}{stays}{until}"


def _of_set(remedy: Mapping[str, Any]) -> str:
    return f" for pod set {remedy['podSet']}" if "podSet" in remedy else ""


def _remedy(remedy: Mapping[str, Any]) -> str:
    key = f"{remedy.get('flavor', '')}/{remedy.get('resource', '')}"
    by = readable(remedy["resource"], remedy["by"]) if "resource" in remedy else str(remedy.get("by", ""))
    text = {
        "RaiseMin": f"raise min of {remedy.get('group')} by {by} of {key}",
        "RaiseMax": f"raise max of {remedy.get('group')} by {by} of {key}",
        "AddCapacity": f"{by} more of {key} in the cluster",
        "AddNode": f"{by} more node{'' if by == '1' else 's'} of {remedy.get('flavor')} like {remedy.get('like')}",
        "WaitFor": f"when {_named(remedy)} ends" if "group" in remedy else "",
        "Evict": f"evict {_named(remedy)}" if "group" in remedy else "",
        "Resume": f"resume {remedy.get('workload') or remedy.get('group')}",
        "ShrinkRequest": f"request {by} less of {remedy.get('resource')}{_of_set(remedy)}",
    }[remedy["do"]]
    return " and ".join([text, *(_remedy(each) for each in remedy.get("and", ()))])
