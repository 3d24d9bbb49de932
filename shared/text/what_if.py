"""Says what would happen: after an edit of the tree, as a diff or as Markdown; to workloads that are submitted."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from shared.json_data import Json
from shared.text.explanation import flavor_name, leaderless_text, missing_text
from shared.text.quantities import readable
from shared.text.remedies import remedy_text
from shared.text.times import moment_text

DEPENDS: Final = "whether it runs depends on which of those that stop end first"
NOT_MANAGED: Final = "is no workload that Quotree would start: it names no group, or is not held"
_BORROWED: Final = "on borrowed quota, which can be taken back"
_COVERED: Final = "within the runtime of its group"


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the prediction as a diff: + for what happens only with the edit, - for what happens only without it."""
    for each in data["violations"]:
        yield f"! {each['object']} {each['field']}: {each['message']} ({each['rule']})"
    yield from (f"+ start {each['workload']} of {each['group']}" for each in data["start"])
    yield from (f"- stop {_stop(each)}" for each in data["stop"])
    yield from (f"- wait {each['message']}" for each in data["wait"])
    yield from (f"? {each['workload']} of {each['group']}: {DEPENDS}" for each in data["depends"] or ())
    for each in data["runtime"]:
        yield f"~ runtime {_runtime(each)}"
    for each in data["reasons"]:
        yield f"~ {each['before']['message']}"
        yield f"  now: {each['after']['message']}"
    if not data["stable"]:
        yield "! not everything became stable: what is shown is how far it came"
    yield _summary(data)


def markdown(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the prediction as Markdown."""
    yield f"**{_summary(data)}**"
    if data["violations"]:
        yield ""
        yield from (
            f"* :x: `{each['object']}` {each['field']}: {each['message']} ({each['rule']})"
            for each in data["violations"]
        )
    changes = [("starts", f"`{each['workload']}` of {each['group']}") for each in data["start"]]
    changes += [("stops", _stop(each, "`")) for each in data["stop"]]
    changes += [("waits", f"`{each['workload']}` of {each['group']}: {each['reason']}") for each in data["wait"]]
    changes += [("depends", f"`{each['workload']}` of {each['group']}: {DEPENDS}") for each in data["depends"] or ()]
    if changes:
        yield from ("", "| | workload |", "|---|---|")
        yield from (f"| {what} | {text} |" for what, text in changes)
    if data["runtime"]:
        yield from ("", "| group | | runtime | with the edit |", "|---|---|--:|--:|")
        for each in data["runtime"]:
            before, after = (readable(each["resource"], each[when]) for when in ("before", "after"))
            yield f"| {each['group']} | {each['flavor']}/{each['resource']} | {before} | {after} |"


def _stop(stop: Mapping[str, Any], quote: str = "") -> str:
    preemptor = f" for {quote}{stop['for']}{quote}" if stop["for"] else ""
    again = ", it starts again" if stop["restarts"] else ""
    return f"{quote}{stop['workload']}{quote} of {stop['group']}: {stop['reason']}{preemptor}{again}"


def _runtime(change: Mapping[str, Any]) -> str:
    before, after = (readable(change["resource"], change[when]) for when in ("before", "after"))
    return f"{change['group']} {change['flavor']}/{change['resource']}: {before} -> {after}"


def _summary(data: Mapping[str, Any]) -> str:
    broken = len(data["violations"])
    if broken:
        return f"refused: {broken} {'rule is' if broken == 1 else 'rules are'} broken"
    counts = (
        f"{len(data[what])} {word}" for what, word in (("start", "start"), ("stop", "stop"), ("wait", "wait longer"))
    )
    return ", ".join(counts)


def preview_lines(previews: Iterable[Json]) -> Iterator[str]:
    """Yield the sentences about each workload."""
    for each in previews:
        yield f"{each['kind']} {each['workload']!r} {_start(each)}"
        if each["starts"] != "Now":
            yield each["message"]
            if each.get("leaderlessSince"):
                yield leaderless_text(each["leaderlessSince"])
            yield from _place(each)
        yield from map(_eviction, each["evicts"])
        for remedy in each["remedies"]:
            yield f"it would start if you {remedy_text(remedy)}"


def _start(preview: Json) -> str:
    if preview["starts"] == "Now":
        admission = preview["admission"]
        ground = _COVERED if admission["ground"] == "Runtime" else _BORROWED
        return f"would start now on {_flavors(admission)}, {ground}"
    if preview["starts"] == "WithLeader":
        return "would start as soon as a reconciler leads" + (
            ", and what it stops has ended" if preview["evicts"] else ""
        )
    if preview["starts"] == "Soon":
        return (
            "would start as soon as what it waits for has ended" if preview["evicts"] else "would start within seconds"
        )
    if preview["starts"] == "Later":
        return f"would start by itself at {moment_text(preview['startsAt'])}"
    return "would not start now"


def _flavors(admission: Json) -> str:
    sets = admission.get("podSets") or {"": admission.get("flavors", {})}
    names = {flavor for own in sets.values() for flavor in own.values()}
    return ", ".join(sorted(names)) or "no flavor"


def _place(preview: Json) -> Iterator[str]:
    if preview["position"]:
        entitled = "entitled to room" if preview["entitled"] else "not entitled to room that others use"
        yield f"it would be at place {preview['position']} in the queue of {preview['group']}, {entitled}"
    flavors = [each for each in preview["flavors"] if missing_text(each)]
    if len(flavors) > 1:
        yield from (f"{flavor_name(each)}: {missing_text(each)}" for each in flavors)


def _eviction(evicted: Json) -> str:
    count = f"{evicted['workloads']} workload{'' if evicted['workloads'] == 1 else 's'}"
    amounts = ", ".join(f"{readable(name, amount)} {name}" for name, amount in sorted(evicted["request"].items()))
    return f"it would stop {count} of group {evicted['group']} ({amounts}): {evicted['reason']}"
