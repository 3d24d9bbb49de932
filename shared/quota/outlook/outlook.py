"""What waits, why, what would help and what an edit would change: the one source of all who show it.

"After" has one meaning: what the next plan decides is written, nothing else has happened, and it is planned again. So
what the next plan starts counts as started everywhere, and holds what it uses.
"""

from collections.abc import Iterator
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
from shared.quota.outlook.simulate.step import carry_out
from shared.quota.outlook.simulate.what_if import Prediction, predict


class Outlook:
    """One snapshot, the next plan, and what is to be said after it. Each part is computed when it is asked for."""

    def __init__(self, given: Snapshot, decided: Plan, cache: CycleCache | None = None) -> None:
        """`decided`: the plan made from `given`. `cache`: that of the plan, which makes the one after it cheap."""
        self.given = given
        self.decided = decided
        self._cache = cache

    @classmethod
    def of(cls, world: World, now: datetime) -> "Outlook":
        """Measure the world and plan."""
        given = measure(world, now)
        return cls(given, plan(given))

    def in_world(self, world: World, now: datetime) -> "Outlook":
        """Return the outlook of a world that differs from the given one, planned with what the plan has remembered."""
        given = measure(world, now, self.given)
        return Outlook(given, plan(given, self._cache), self._cache)

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
    def rows(self) -> PendingRows:
        """The workloads that wait after the next plan."""
        return PendingRows(self.plan)

    def find(self, workload_id: WorkloadId) -> Workload | None:
        """Return a workload as it is after the next plan."""
        found = (each.by_id.get(workload_id) for each in self.after.world.workload_sets.values())
        return next((each for each in found if each is not None), None)

    def explanation(self, workload: Workload) -> WorkloadExplanation:
        """Return why the workload waits, or on what its place rests; what holds what it waits for."""
        current = self.after.world.workloads_of(workload.group).by_id[workload.id]
        return explain(self.after, self.plan, current)

    def advice(self, explanation: WorkloadExplanation) -> Advice:
        """Return what would let the workload start, and when it starts by itself: each remedy is tried."""
        return advise(self.given, explanation)

    def as_data(self, explanation: WorkloadExplanation, advice: Advice = NO_ADVICE) -> Json:
        """Return an explanation as `quotree explain -o json` prints it."""
        return explanation_as_data(explanation, advice, self._names)

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
