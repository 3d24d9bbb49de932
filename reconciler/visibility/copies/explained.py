"""Explanations: of one workload with its remedies, of lists without them."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from reconciler.visibility.copies.left_out import made_for
from reconciler.visibility.objects.explanations import WorkloadsByNamespace, explanation_object
from reconciler.visibility.objects.naming import is_called, object_name
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.selection import Selection
from shared.json_data import Json
from shared.quota.measure.accounts.run_times import RunTimes
from shared.quota.model.workload import Workload, WorkloadId, namespace_of
from shared.quota.outlook.forecast.forecast import forecast_as_data


def listed_forecasts(observed: ObservedPlan, run_times: RunTimes) -> Json:
    """Return when all that waits will start, as far as it is known or known why not: namespace → name → forecast."""
    waiting = [place.workload for place in observed.outlook.rows.places()]
    known, found = forecast_as_data(observed.outlook, waiting, run_times), dict[str, Any]()
    for workload in waiting:
        if workload.id in known:
            found.setdefault(namespace_of(workload.key), {})[object_name(workload)] = known[workload.id]
    return found


class Explained:
    """What one copy has explained for lists: each workload once, for whichever lists it is in."""

    def __init__(self, observed: ObservedPlan, run_times: RunTimes) -> None:
        """`run_times`: of the past, by which it is forecast when a workload starts."""
        self._observed = observed
        self._run_times = run_times
        self._known: dict[WorkloadId, Json] = {}
        self._workloads = WorkloadsByNamespace()

    def objects(self, selection: Selection) -> Iterator[Json]:
        """Yield the objects that are selected, by name; of one workload each a better one than before."""
        here = self._workloads.of(self._observed, selection.namespace or None)
        wanted = [each for each in here if _takes(selection, each)]
        is_one = wanted and selection.is_one_explanation
        found = self._one(wanted[0]) if is_one else self._all(selection, wanted)
        for workload, data in found:
            yield explanation_object(self._observed, workload, data, told_all=selection.in_whole_cluster)

    def _one(self, workload: Workload) -> Iterator[tuple[Workload, Json]]:
        outlook, data = self._observed.outlook, dict[str, Any]()
        for tried, data in enumerate(outlook.explained_in_steps(workload)):
            yield workload, data | {"remediesTried": bool(tried)}
        after = outlook.find(workload.id)
        for forecast in forecast_as_data(outlook, [after] if after else (), self._run_times).values():
            yield workload, data | {"remediesTried": True, "forecast": forecast}

    def _all(self, selection: Selection, wanted: Iterable[Workload]) -> Iterator[tuple[Workload, Json]]:
        for workload in wanted:
            data = made_for(selection, workload.key, partial(self._listed, workload))
            if data is not None:
                yield workload, data

    def _listed(self, workload: Workload) -> Json:
        if workload.id not in self._known:
            outlook = self._observed.outlook
            data = outlook.as_data(outlook.explanation(workload))
            self._known[workload.id] = data | {"remediesTried": False}
        return self._known[workload.id]


def _takes(selection: Selection, workload: Workload) -> bool:
    return selection.takes_group(workload.group) and (not selection.name or is_called(workload, selection.name))
