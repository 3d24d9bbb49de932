"""What waits, why, what would help and what an edit would change: the one source of all who show it.

"After" has one meaning: what the next plan decides is written, nothing else has happened, and it is planned again. So
what the next plan starts counts as started everywhere, and holds what it uses. While no reconciler leads, nobody writes
that: what the next plan starts or stops is then said to wait for one, and everything else is as if it had been written.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from shared.json_data import Json
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.advise.json_output import explanation_as_data
from shared.quota.outlook.advise.preemptor_names import PreemptorNames
from shared.quota.outlook.advise.remedies import advise
from shared.quota.outlook.advise.remedy import NO_ADVICE, Advice
from shared.quota.outlook.explain.explanation import WorkloadExplanation, explain
from shared.quota.outlook.explain.pending_rows import PendingRows
from shared.quota.outlook.explain.undecided import Undecided
from shared.quota.outlook.simulate.step import carry_out
from shared.quota.outlook.simulate.what_if import Prediction, predict


class Outlook:
    """One snapshot, the next plan, and what is to be said after it. Each part is computed when it is asked for."""

    def __init__(
        self,
        given: Snapshot,
        decided: Plan,
        cache: CycleCache | None = None,
        *,
        leaderless_since: datetime | None = None,
    ) -> None:
        """`decided`: the plan made from `given`. `cache`: that of the plan, which makes the one after it cheap.

        `leaderless_since`: when the last reconciler led; None: one leads, or that is not known.
        """
        self.given = given
        self.decided = decided
        self.leaderless_since = leaderless_since
        self._cache = cache

    @classmethod
    def of(cls, world: World, now: datetime, *, leaderless_since: datetime | None = None) -> "Outlook":
        """Measure the world and plan."""
        given = measure(world, now)
        return cls(given, plan(given), leaderless_since=leaderless_since)

    def in_world(self, world: World, now: datetime) -> "Outlook":
        """Return the outlook of a world that differs from the given one, planned with what the plan has remembered."""
        given = measure(world, now, self.given)
        return Outlook(given, plan(given, self._cache), self._cache, leaderless_since=self.leaderless_since)

    @property
    def after(self) -> Snapshot:
        """The snapshot after the next plan."""
        return self._after[0]

    @property
    def plan(self) -> Plan:
        """The plan made from `after`."""
        return self._after[1]

    @cached_property
    def _after(self) -> tuple[Snapshot, Plan]:
        if self.decided.is_idle:
            return self.given, self.decided
        given = self.given
        after = measure(carry_out(given.world, self.decided), given.now, given)
        return after, plan(after, self._cache)

    @cached_property
    def _undecided(self) -> Undecided | None:
        since = self.leaderless_since
        return None if since is None else Undecided(since, self.given, self.decided, self.plan)

    @property
    def shown(self) -> World:
        """The world whose workloads are shown: after the next plan, if there is a reconciler that carries it out."""
        return self.after.world if self.leaderless_since is None else self.given.world

    @cached_property
    def rows(self) -> PendingRows:
        """The workloads that wait after the next plan; without a leader, those that wait now."""
        return PendingRows(self.plan, self._undecided)

    def find(self, workload_id: WorkloadId) -> Workload | None:
        """Return a workload as it is shown."""
        found = (each.by_id.get(workload_id) for each in self.shown.workload_sets.values())
        return next((each for each in found if each is not None), None)

    def explanation(self, workload: Workload) -> WorkloadExplanation:
        """Return why the workload waits, or on what its place rests; what holds what it waits for."""
        undecided = self._undecided
        if undecided is not None and undecided.concerns(workload):
            now = self.given.world.workloads_of(workload.group).by_id[workload.id]
            return undecided.told(explain(self.given, self.decided, now))
        current = self.after.world.workloads_of(workload.group).by_id[workload.id]
        found = explain(self.after, self.plan, current)
        return found if undecided is None else undecided.told(found)

    def advice(self, explanation: WorkloadExplanation) -> Advice:
        """Return what would let the workload start, and when it starts by itself: each remedy is tried."""
        found = advise(self.given, explanation)
        return found if self.leaderless_since is None else replace(found, starts_at=None)

    def as_data(self, explanation: WorkloadExplanation, advice: Advice = NO_ADVICE) -> Json:
        """Return an explanation as `quotree explain -o json` prints it."""
        found = explanation_as_data(explanation, advice, self._names)
        since = self.leaderless_since
        return found if since is None else found | {"leaderlessSince": since.isoformat(timespec="seconds")}

    def explained_in_steps(self, workload: Workload) -> Iterator[Json]:
        """Yield the explanation without remedies, which is soon there, and then the whole one."""
        explanation = self.explanation(workload)
        yield self.as_data(explanation)
        yield self.as_data(explanation, self.advice(explanation))

    def explained(self, workload: Workload) -> Json:
        """Return the whole explanation."""
        *_, whole = self.explained_in_steps(workload)
        return whole

    def prediction(self, edited: World) -> Prediction:
        """Return what an edit would change; `edited`: the given world with the edit."""
        return predict(self.given.world, edited, self.given.now, self.given)

    @cached_property
    def _names(self) -> PreemptorNames:
        return PreemptorNames(self.given.world)
