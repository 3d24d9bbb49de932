"""Says when a workload will start, and on what that rests: the same words wherever it is shown."""

from datetime import UTC, datetime
from typing import Final

from shared.json_data import Json

ASSUMES: Final = {
    "DeclaredRunTimes": "declared run times",
    "PastRunTimes": "past run times",
    "RunTimeLimits": "run-time limits",
    "RecentArrivals": "that as much comes as of late",
    "PaceOfItsGroup": "the pace of its group",
    "PastForecasts": "that forecasts are as right as of late",
}
"""On what a forecast rests → how that is called."""


def start_line(found: Json) -> str:
    """Return the whole sentence of one workload."""
    return (
        f"when it starts is not known: {why_unknown(found)}" if "unknown" in found else f"starts {forecast_text(found)}"
    )


def forecast_text(found: Json) -> str:
    """Return the same without its first words, for a place that says what it is about."""
    if "unknown" in found:
        return f"not known: {why_unknown(found)}"
    percent = f" ({found['percent']} %)" if found["from"] != found["until"] else ""
    return "; ".join([f"{interval(found)}{percent}", *_assumed(found), _before(found["before"])])


def interval(found: Json) -> str:
    """Return `between 2026-01-31 14:10 and 15:40 UTC`, or `at` one minute; empty where it is not known."""
    if "unknown" in found:
        return ""
    first, last = (datetime.fromisoformat(found[end]).astimezone(UTC) for end in ("from", "until"))
    begin, end = f"{first:%Y-%m-%d %H:%M}", f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    return f"at {begin} UTC" if begin.endswith(end) else f"between {begin} and {end} UTC"


def start_cell(found: Json) -> str:
    """Return the same for a cell of a table: `unknown` where it is not known."""
    return interval(found) or "unknown"


def why_unknown(found: Json) -> str:
    """Return why nothing is said, with what would change that."""
    endless = _workloads(found["endless"])
    return {
        "RunTimesUnknown": f"it waits for workloads of unknown run time ({endless} of them run); "
        "the annotation quotree.dev/expected-run-time says how long they take",
        "NotInEveryRun": f"it starts in {found['runs']} runs ahead of the cluster",
        "TooFar": "too many workloads start before it",
    }[found["unknown"]]


def _assumed(found: Json) -> list[str]:
    bases = [ASSUMES[each] for each in found["assumes"]]
    do = "does" if found["endless"] == 1 else "do"
    endless = f"that {_workloads(found['endless'])} of unknown run time {do} not end" if found["endless"] else ""
    named = " and ".join(filter(None, [", ".join(bases), endless]))
    return [f"assumes {named}"] if named else []


def _before(count: int) -> str:
    return f"{_workloads(count)} of its group before it"


def _workloads(count: int) -> str:
    return f"{count} workload{'' if count == 1 else 's'}"
