"""The pending workloads of a plan as rows: each with its place in its queue, and why it waits.

What the plan starts is no row and takes no place, unless nobody carries the plan out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.json_data import Json
from shared.quota.decide.decisions import Plan, WaitExplanation
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.explain.undecided import Undecided

Takes = Callable[[str], bool]
"""Whether a group's rows are wanted."""


@dataclass(frozen=True, slots=True)
class Place:
    """A pending workload and its place among those of its leaf that wait, from 1; 0: it is not considered now."""

    workload: Workload
    position: int


@dataclass(frozen=True, slots=True)
class PendingRow:
    """One pending workload: its place, as in `Place`, and why it waits. Amounts are exact integers in base units."""

    position: int
    why: WaitExplanation

    @property
    def workload(self) -> Workload:
        """The workload that waits."""
        return self.why.workload

    def as_data(self) -> Json:
        """Return the row as every command prints it that lists what waits."""
        return {
            **waiting_as_data(self.why),
            "position": self.position,
            "priority": self.workload.priority,
            "queued": self.workload.queued.isoformat(timespec="seconds"),
        }


def waiting_as_data(why: WaitExplanation) -> Json:
    """Return why a workload waits, as in docs/specification.md §9.5."""
    return {
        "workload": why.workload.key,
        "kind": why.workload.kind,
        "group": why.workload.group,
        "reason": why.reason.value,
        "binding": why.binding,
        "flavor": why.flavor,
        "resource": why.resource,
        "missing": why.missing,
        "message": why.message,
    }


class PendingRows:
    """Reads the rows out of a plan. A reason is computed when its row is asked for."""

    def __init__(self, plan: Plan, undecided: Undecided | None = None) -> None:
        """`undecided`: what waits for a reconciler that leads; None: one leads."""
        self._undecided = undecided
        self._snapshot = plan.end.snapshot if undecided is None else undecided.given
        self._started = {start.workload.id for start in plan.starts} if undecided is None else frozenset()
        self._reasons = PendingReasons(plan)

    def __iter__(self) -> Iterator[PendingRow]:
        """Yield every row: by group, then by place."""
        for place in self.places():
            row = self.row(place)
            if row is not None:
                yield row

    def places(self, takes: Takes = bool) -> Iterator[Place]:
        """Yield the places of these groups, by default of all: by group, then by place, last those in no leaf.

        Groups are read one after another, so that taking the places one by one never takes long at once.
        """
        for name in sorted(filter(takes, self._snapshot.leaves)):
            leaf = self._snapshot.leaves[name]
            waiting = (each for each in leaf.pending if each.id not in self._started)
            yield from (Place(each, place) for place, each in enumerate(waiting, 1))
            yield from (Place(each, 0) for each in leaf.aside if each.id not in self._started)
        yield from (Place(each, 0) for each in self._snapshot.orphaned if each.is_pending and takes(each.group))

    def row(self, place: Place) -> PendingRow | None:
        """Return the row of one place; None for a workload that does not wait."""
        why = self.why(place.workload)
        return None if why is None else PendingRow(place.position, why)

    def why(self, workload: Workload) -> WaitExplanation | None:
        """Return why this workload waits; None when the plan starts it or it does not wait."""
        waits = None if self._undecided is None else self._undecided.why(workload)
        return self._reasons.why(workload) if waits is None else waits
