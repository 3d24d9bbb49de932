"""The effects of an edit summed up by group. No workload is named, so that everyone with the right to edit can read
it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.what_if import Prediction
from shared.resources import Amount, write_quantity

MOST_LINES: Final = 10


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """What happens to a number of workloads of one group, and their total request.

    `restarts`: how many of the stopped ones run again at the end.
    """

    group: str
    reason: str
    workloads: int
    request: Mapping[str, Amount]
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Effects:
    """A prediction without names."""

    starts: tuple[GroupEffect, ...]
    stops: tuple[GroupEffect, ...]
    waits: tuple[GroupEffect, ...]
    depends: tuple[GroupEffect, ...]
    prediction: Prediction


def effects_of(found: Prediction) -> Effects:
    """Sum a prediction up by group."""
    return Effects(
        starts=tuple(summed_by_group((each, "", False) for each in found.starts)),
        stops=tuple(
            summed_by_group((each.evict.workload, each.evict.reason.value, each.restarts) for each in found.stops)
        ),
        waits=tuple(summed_by_group((each.workload, each.reason.value, False) for each in found.waits)),
        depends=tuple(summed_by_group((each, "", False) for each in found.depends or ())),
        prediction=found,
    )


def summed_by_group(found: Iterable[tuple[Workload, str, bool]]) -> Iterator[GroupEffect]:
    """Sum up (workload, reason, whether it runs again) by group and reason."""
    sums: dict[tuple[str, str], list[tuple[Workload, bool]]] = {}
    for workload, reason, restarts in found:
        sums.setdefault((workload.group, reason), []).append((workload, restarts))
    for (group, reason), each in sorted(sums.items()):
        request: dict[str, Amount] = {}
        for workload, _ in each:
            for resource, amount in workload.request.items():
                request[resource] = request.get(resource, 0) + amount
        yield GroupEffect(group, reason, len(each), request, sum(restarts for _, restarts in each))


def lines_of(effects: Effects) -> list[str]:
    """Return at most ten sentences, what stops first; of more effects, nine and how many more there are.

    Nothing is returned for an edit without effect.
    """
    found = [*_sentences(effects)]
    if len(found) > MOST_LINES:
        left = len(found) - (MOST_LINES - 1)
        found = [*found[: MOST_LINES - 1], f"and {left} more effects; `quotree what-if` lists all"]
    return found


def _sentences(effects: Effects) -> Iterator[str]:
    for each in effects.stops:
        again = f", {each.restarts} of which would start again" if each.restarts else ""
        yield f"would stop {_what(each)}: {each.reason}{again}"
    for each in effects.waits:
        yield f"would keep {_what(each)} waiting that would start otherwise: {each.reason}"
    for each in effects.starts:
        yield f"would start {_what(each)}"
    for each in effects.depends:
        yield f"whether {_what(each)} would run depends on which of those that stop end first"
    for change in effects.prediction.runtimes:
        flavor, resource = change.key
        before, after = (write_quantity(resource, amount) for amount in (change.before, change.after))
        yield f"runtime of group {change.group}: {before} -> {after} {flavor}/{resource}"
    if not effects.prediction.stable:
        yield "the cluster would not come to rest: these are the first effects"


def _what(effect: GroupEffect) -> str:
    count = f"{effect.workloads} workload{'' if effect.workloads == 1 else 's'}"
    amounts = ", ".join(f"{write_quantity(name, each)} {name}" for name, each in sorted(effect.request.items()))
    return f"{count} of group {effect.group}{f' ({amounts})' if amounts else ''}"


def effects_as_data(effects: Effects) -> dict[str, Any]:
    """Return the sums as in the visibility API, and the messages."""
    return {
        "start": effects_as_list(effects.starts),
        "stop": [
            {**data, "restarts": each.restarts}
            for data, each in zip(effects_as_list(effects.stops), effects.stops, strict=True)
        ],
        "wait": effects_as_list(effects.waits),
        **({} if effects.prediction.depends is None else {"depends": effects_as_list(effects.depends)}),
        "runtime": [
            {
                "group": each.group,
                "flavor": each.key.flavor,
                "resource": each.key.resource,
                "before": each.before,
                "after": each.after,
            }
            for each in effects.prediction.runtimes
        ],
        "stable": effects.prediction.stable,
        "lines": lines_of(effects),
    }


def effects_as_list(effects: Sequence[GroupEffect]) -> list[dict[str, Any]]:
    return [
        {"group": each.group, "workloads": each.workloads, "request": dict(each.request)}
        | ({"reason": each.reason} if each.reason else {})
        for each in effects
    ]
