"""Says who holds what a workload waits for: each by its name, or those of one group that stay for one reason as one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from shared.json_data import Json
from shared.text.quantities import readable
from shared.text.times import moment_text

BECAUSE: Final = {
    "Evicting": "is being evicted",
    "NotPreemptible": "is not preemptible",
    "ExemptAfterStart": "has started too recently",
    "NotLowerPriority": "has no lower priority",
    "PreemptionNever": "its group does not preempt",
    "Inactive": "its group is inactive",
    "WithinRuntime": "its group is within its runtime",
    "OnClosedNodes": "its nodes take no more pods",
    "GracePeriod": "its group's grace period is not over",
    "Notice": "must be given notice first",
    "NotAnswered": "its start is not confirmed yet",
    "NotEntitled": "the workload that waits is not entitled",
    "NotReadyYet": "its pods still have time to become ready",
    "RunTimeLeft": "its run time is not over",
}
_MANY: Final = {
    "Evicting": "are being evicted",
    "NotPreemptible": "are not preemptible",
    "ExemptAfterStart": "have started too recently",
    "NotLowerPriority": "have no lower priority",
    "PreemptionNever": "their group does not preempt",
    "Inactive": "their group is inactive",
    "WithinRuntime": "their group is within its runtime",
    "OnClosedNodes": "their nodes take no more pods",
    "GracePeriod": "their group's grace period is not over",
    "Notice": "must be given notice first",
    "NotAnswered": "their starts are not confirmed yet",
    "NotReadyYet": "their pods still have time to become ready",
}
_SUMMED: Final = ("amount", "borrowed")


def named(other: Json) -> str:
    """Return the name of a workload; for one in another namespace its group, and for several the number."""
    if other.get("workload"):
        return f"{other['workload']} of {other['group']}"
    count = other.get("workloads", 1)
    return f"{count} workloads of {other['group']}" if count > 1 else f"a workload of {other['group']}"


def folded(holders: Sequence[Json]) -> list[Json]:
    """Return one holder for those of one group that stay for one reason, the largest sum first.

    `until`: when the last of them can be had.
    """
    alike: dict[tuple[str, str, bool], list[Json]] = {}
    for each in holders:
        alike.setdefault((each["group"], each.get("because") or "", bool(each.get("recyclable"))), []).append(each)
    return sorted(map(_as_one, alike.values()), key=lambda each: -int(each["amount"]))


def _as_one(holders: Sequence[Json]) -> Json:
    first, *others = holders
    if not others:
        return first
    untils = [each["until"] for each in holders if each.get("until")]
    return {
        "group": first["group"],
        "because": first.get("because"),
        "recyclable": first.get("recyclable"),
        "workloads": sum(each.get("workloads", 1) for each in holders),
        **{word: sum(each[word] for each in holders) for word in _SUMMED},
        **({"until": max(untils)} if untils else {}),
    }


def holder_lines(holders: Iterable[Json], resource: str) -> Iterator[str]:
    """Yield a line for each of these holders of a resource."""
    for each in holders:
        yield _holder(each, resource)


def _holder(holder: Json, resource: str) -> str:
    hold = "hold" if _is_several(holder) else "holds"
    borrowed = f", {readable(resource, holder['borrowed'])} of it borrowed" if holder["borrowed"] else ""
    return f"{named(holder)} {hold} {readable(resource, holder['amount'])}{borrowed}: {fate_text(holder)}"


def fate_text(holder: Json) -> str:
    """Return whether a holder can be evicted for the workload that waits, and why not."""
    several, because = _is_several(holder), holder.get("because")
    end = "stay" if several else "stays"
    if because:
        end += f", {_MANY.get(because, BECAUSE[because]) if several else BECAUSE[because]}"
    elif holder["recyclable"]:
        end = "can be recycled"
    until = f" until {moment_text(holder['until'])}" if holder.get("until") else ""
    return end + until + (f" for {holder['claimedBy']}" if holder.get("claimedBy") else "")


def _is_several(holder: Json) -> bool:
    return bool(holder.get("workloads", 1) > 1)
