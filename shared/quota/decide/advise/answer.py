"""One workload's explanation as data: what `quotree explain` and the visibility API answer with.

What the plan starts counts as started, as it would a moment later.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from shared.quota.decide.advise.json_output import explanation_as_data
from shared.quota.decide.advise.preemptor_names import PreemptorNames
from shared.quota.decide.advise.remedies import NO_ADVICE, advise
from shared.quota.decide.decisions import Plan
from shared.quota.decide.explain.explanation import explain
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate.step import carry_out
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Workload

Json = dict[str, Any]


def explain_in_steps(given: Snapshot, decided: Plan, workload: Workload) -> Iterator[Json]:
    """The explanation without remedies, which is soon there, and then the whole one."""
    after = _after(given, decided)
    explanation = explain(after, plan(after), _current(after, workload))
    names = PreemptorNames(given.world)
    yield explanation_as_data(explanation, NO_ADVICE, names)
    yield explanation_as_data(explanation, advise(given, explanation), names)


def explain_workload(given: Snapshot, workload: Workload) -> Json:
    """The whole explanation."""
    *_, whole = explain_in_steps(given, plan(given), workload)
    return whole


def explain_all(given: Snapshot, decided: Plan, workloads: Iterable[Workload]) -> Iterator[Json]:
    """The explanation of each workload, without remedies."""
    after = _after(given, decided)
    again, names = plan(after), PreemptorNames(given.world)
    for workload in workloads:
        yield explanation_as_data(explain(after, again, _current(after, workload)), NO_ADVICE, names)


def _after(given: Snapshot, decided: Plan) -> Snapshot:
    return measure(carry_out(given.world, decided), given.now, given)


def _current(after: Snapshot, workload: Workload) -> Workload:
    return after.world.workloads_of(workload.group).by_id[workload.id]
