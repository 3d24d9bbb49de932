"""Prints a prediction: as a diff in a terminal, as Markdown for a pull request."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.text.quantities import readable

DEPENDS: Final = "whether it runs depends on which of those that stop end first"


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
