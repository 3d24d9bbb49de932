"""Explanations: of one workload with its remedies, of lists without them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from reconciler.visibility.objects.explanations import WorkloadsByNamespace, explanation_object
from reconciler.visibility.objects.kinds import Json
from reconciler.visibility.objects.naming import is_called
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.selection import Selection
from shared.quota.decide.advise.answer import explain_all, explain_in_steps
from shared.quota.model.workload import Workload, WorkloadId

_NOT_TRIED: Final = {"remediesTried": False}


@dataclass(frozen=True, slots=True)
class Explained:
    """What one copy has explained for lists: each workload once, for whichever lists it is in."""

    observed: ObservedPlan
    _known: dict[WorkloadId, Json] = field(default_factory=dict)
    _workloads: WorkloadsByNamespace = field(default_factory=WorkloadsByNamespace)

    def objects(self, selection: Selection) -> Iterator[Json]:
        """The objects that are selected, by name; of one workload, first without remedies and then with them."""
        here = self._workloads.of(self.observed, selection.namespace or None)
        wanted = [each for each in here if _takes(selection, each)]
        found = self._one(wanted[0]) if wanted and selection.is_one_explanation else self._all(wanted)
        for workload, data in found:
            yield explanation_object(self.observed, workload, data, told_all=selection.in_whole_cluster)

    def _one(self, workload: Workload) -> Iterator[tuple[Workload, Json]]:
        for tried, data in enumerate(explain_in_steps(self.observed.snapshot, self.observed.plan, workload)):
            yield workload, data | {"remediesTried": bool(tried)}

    def _all(self, wanted: Iterable[Workload]) -> Iterator[tuple[Workload, Json]]:
        unknown = [each for each in wanted if each.id not in self._known]
        explained = explain_all(self.observed.snapshot, self.observed.plan, unknown) if unknown else iter(())
        for workload in wanted:
            if workload.id not in self._known:
                self._known[workload.id] = next(explained) | _NOT_TRIED
            yield workload, self._known[workload.id]


def _takes(selection: Selection, workload: Workload) -> bool:
    return selection.takes_group(workload.group) and (not selection.name or is_called(workload, selection.name))
