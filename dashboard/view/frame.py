"""One moment of the cluster, frozen, with what the engine says about it: what every page is computed from."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.decide.decisions import Plan
from shared.quota.decide.explain.pending_reasons import PendingReasons
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate.step import carry_out
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload, WorkloadId


@dataclass(frozen=True)
class Outlook:
    """What the engine decides on a complete world. What the next cycle starts counts as started, as in `explain`."""

    given: Snapshot
    decided: Plan
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    @property
    def after(self) -> Snapshot:
        """The snapshot a moment later, when the plan has been carried out."""
        return self._later[0]

    @property
    def plan(self) -> Plan:
        """The plan made on `after`."""
        return self._later[1]

    @property
    def reasons(self) -> PendingReasons:
        """Why each workload that waits then does so."""
        return self._later[2]

    @property
    def _later(self) -> tuple[Snapshot, Plan, PendingReasons]:
        with self._lock:  # two pages can be computed at once, in threads of their own
            return self._computed

    @cached_property
    def _computed(self) -> tuple[Snapshot, Plan, PendingReasons]:
        if self.decided.is_idle:
            return self.given, self.decided, PendingReasons(self.decided)
        after = measure(carry_out(self.given.world, self.decided), self.given.now, self.given)
        again = plan(after)
        return after, again, PendingReasons(again)


@dataclass(frozen=True, slots=True)
class Frame:
    """What was seen, numbered; `outlook` is None where the user's rights do not show all that a decision depends on."""

    number: int
    now: datetime
    world: World
    groups: Mapping[str, GroupStatusRecord]
    outlook: Outlook | None
    notices: tuple[str, ...]
    """What is not shown and why, and what might be old."""
    loading: tuple[str, ...] = ()
    """What has not been read yet."""

    def find(self, kind: str, key: str) -> Workload | None:
        """Return the workload of that kind and namespace/name."""
        wanted = WorkloadId(kind, key)
        world = self.outlook.after.world if self.outlook is not None else self.world
        found = (each.by_id.get(wanted) for each in world.workload_sets.values())
        return next((each for each in found if each is not None), None)
