"""Slices of a group's workloads: those that wait, in the order of the queues, those that run, those evicted last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from dashboard.view.frame import Frame
from shared.json_data import Json
from shared.quota.measure.inputs.workload_set import queue_order
from shared.quota.model.workload import Workload, flavor_names
from shared.text.pending import cause_of
from shared.text.quantities import readable

MOST: Final = 200
"""So many lines of a list are answered at once."""
_UNKNOWN: Final = "the reason is not computed: not everything that it depends on is shown to you"


class Part(StrEnum):
    """Which workloads of a group."""

    PENDING = "pending"
    RUNNING = "running"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class Order:
    """Names the column that sorts a list; without it, what waits is in the order of the queues, else latest first."""

    by: str = ""
    down: bool = False


_QUEUES: Final = Order()
_ORDERS: Final[Mapping[str, Callable[[tuple[int, Workload]], Any]]] = {
    "workload": lambda each: each[1].key,
    "group": lambda each: (each[1].group, each[0]),
    "priority": lambda each: each[1].priority,
    "queued": lambda each: -each[1].queued.timestamp(),
    "since": lambda each: -_time_of(each[1]),
    "evicted": lambda each: -_time_of(each[1]),
}
"""Numbers that a page shows as an age are sorted by the age."""


def slice_of(
    frame: Frame, group: str, part: Part, first: int, count: int, *, text: str = "", order: Order = _QUEUES
) -> Json:
    """Return `count` workloads of the subtree from number `first` on; `text`: only those whose name holds it."""
    found = [each for each in _workloads(frame, group, part) if text in each[1].key]
    if order.by in _ORDERS:
        found.sort(key=_ORDERS[order.by], reverse=order.down)
    elif order.down:
        found.reverse()
    chosen = found[first : first + min(count, MOST)]
    return {
        "total": len(found),
        "first": first,
        "frame": frame.number,
        "items": [row_of(frame, part, place, workload) for place, workload in chosen],
    }


def _workloads(frame: Frame, group: str, part: Part) -> Sequence[tuple[int, Workload]]:
    if part is Part.PENDING:
        return [*pending_of(frame, group)]
    own = [
        each
        for leaf in _leaves(frame, group)
        for each in _world(frame).workloads_of(leaf).by_id.values()
        if (each.admission is not None if part is Part.RUNNING else each.eviction is not None)
    ]
    own.sort(key=lambda each: (_time_of(each), each.key), reverse=True)
    return [(0, each) for each in own]


def _time_of(workload: Workload) -> float:
    """Return when it was evicted, else started."""
    if workload.eviction is not None:
        return workload.eviction.at.timestamp()
    return workload.admission.since.timestamp() if workload.admission is not None else 0.0


def pending_of(frame: Frame, group: str) -> Iterator[tuple[int, Workload]]:
    """Yield what waits below a group, all without one: each with its place, 0 for those that are not considered now."""
    if frame.outlook is not None:
        leaves = frozenset(_leaves(frame, group))
        yield from ((each.position, each.workload) for each in frame.outlook.rows.places(leaves.__contains__))
        return
    for leaf in _leaves(frame, group):
        waiting = (each for each in frame.world.workloads_of(leaf).by_id.values() if each.is_pending)
        yield from ((_served_place(frame, each), each) for each in sorted(waiting, key=queue_order))


def _served_place(frame: Frame, workload: Workload) -> int:
    served = frame.served.get(workload.id)
    return 0 if served is None else served.position


def _leaves(frame: Frame, group: str) -> Sequence[str]:
    """Return the leaf itself, or those below; all leaves for no group; without the tree, what the workloads name."""
    world = _world(frame)
    if not group:
        return sorted(world.workload_sets)
    if group in world.tree and frame.groups:
        return sorted({group, *world.tree.subtree(group)} & world.workload_sets.keys())
    return [group] if group in world.workload_sets else []


def _world(frame: Frame) -> Any:
    return frame.outlook.shown if frame.outlook is not None else frame.world


def row_of(frame: Frame, part: Part, place: int, workload: Workload) -> Json:
    """Return one line of a list."""
    item: Json = {
        "workload": workload.key,
        "kind": workload.kind,
        "group": workload.group,
        "priority": workload.priority,
        "request": ", ".join(f"{readable(name, each)} {name}" for name, each in sorted(workload.request.items())),
        "queued": workload.queued.isoformat(),
    }
    if part is Part.PENDING:
        item |= {"place": place, **_reason(frame, workload)}
    if workload.admission is not None:
        flavors = sorted(flavor_names(workload.admission.flavors))
        item |= {"since": workload.admission.since.isoformat(), "flavors": ", ".join(flavors)}
    if workload.eviction is not None:
        claim = workload.claim
        preemptor = None if claim is None else _world(frame).preemptors.get(claim.preemptor_id)
        item |= {
            "evictedFor": workload.eviction.reason.value,
            "evicted": workload.eviction.at.isoformat(),
            "for": preemptor.key if preemptor is not None else "",
            "state": "Evicting" if workload.is_evicting else "Running" if workload.admission else "Pending",
        }
    return item


def _reason(frame: Frame, workload: Workload) -> Json:
    if frame.outlook is None:
        served = frame.served.get(workload.id)
        return {"reason": served.reason, "message": served.message} if served else {"reason": "", "message": _UNKNOWN}
    why = frame.outlook.rows.why(workload)
    if why is None:
        return {"reason": "", "message": "starts now"}
    return {"reason": why.reason.value, "message": cause_of(why.message)}
