"""One workload's explanation as data: what `quotree explain` and the visibility API answer with.

What the plan starts counts as started, as it would a moment later.
"""

from collections.abc import Iterator
from typing import Any

from shared.quota.decide.advise.json_output import explanation_as_data
from shared.quota.decide.advise.preemptor_names import PreemptorNames
from shared.quota.decide.advise.remedies import advise
from shared.quota.decide.advise.remedy import NO_ADVICE
from shared.quota.decide.decisions import Plan
from shared.quota.decide.explain.explanation import WorkloadExplanation, explain
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate.step import carry_out
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload

Json = dict[str, Any]


class Explainer:
    """Explains the workloads of one snapshot and its plan."""

    def __init__(self, given: Snapshot, decided: Plan) -> None:
        self._given = given
        self._after = measure(carry_out(given.world, decided), given.now, given)
        self._plan = plan(self._after)
        self._names = PreemptorNames(given.world)

    def explain(self, workload: Workload) -> Json:
        """The explanation without remedies."""
        return explanation_as_data(self._explanation(workload), NO_ADVICE, self._names)

    def in_steps(self, workload: Workload) -> Iterator[Json]:
        """The explanation without remedies, which is soon there, and then the whole one."""
        explanation = self._explanation(workload)
        yield explanation_as_data(explanation, NO_ADVICE, self._names)
        yield explanation_as_data(explanation, advise(self._given, explanation), self._names)

    def _explanation(self, workload: Workload) -> WorkloadExplanation:
        current = self._after.world.workloads_of(workload.group).by_id[workload.id]
        return explain(self._after, self._plan, current)


def explain_workload(given: Snapshot, workload: Workload) -> Json:
    """The whole explanation."""
    *_, whole = Explainer(given, plan(given)).in_steps(workload)
    return whole
