"""What a copy answers: objects made of its snapshot and plan, each once, for whichever lists it is in."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final

import msgspec

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.copies.edits import read_edit
from reconciler.visibility.copies.explained import Explained, listed_forecasts
from reconciler.visibility.copies.left_out import made_for
from reconciler.visibility.copies.plans import current_plan, known_run_times
from reconciler.visibility.copies.previews import preview_starts
from reconciler.visibility.copies.questions import CopyQuestion, read_question
from reconciler.visibility.copies.submitted import as_created, read_submitted
from reconciler.visibility.copies.what_ifs import predict_edit
from reconciler.visibility.objects.groups import group_object, listed_group
from reconciler.visibility.objects.kinds import EXPLANATION, PENDING
from reconciler.visibility.objects.naming import is_called
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import pending_object, places_of
from reconciler.visibility.objects.selection import Selection
from shared.cluster.state.cluster_state import ClusterState
from shared.kinds.kind import Kinds
from shared.quota.model.workload import WorkloadId
from shared.quota.outlook.explain.pending_rows import Place

_encode: Final = msgspec.json.Encoder().encode
_NO_KINDS: Final = Kinds()


class CopiedWorld:
    """The world as it was when this process was copied."""

    def __init__(
        self,
        state: ClusterState,
        latest: LatestPlan,
        kinds: Kinds = _NO_KINDS,
        leaderless_since: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """`leaderless_since`: when the last reconciler led; None: one leads, or that is not known."""
        self._state = state
        self._kinds = kinds
        self._latest = latest
        self._leaderless_since = leaderless_since
        self._observed: ObservedPlan | None = None
        self._explained: Explained | None = None
        self._pending: dict[WorkloadId, bytes | None] = {}
        self._groups: dict[str, bytes] = {}

    def answer(self, question: bytes) -> Iterator[bytes]:
        """Return the lines of the answer, see `reconciler.visibility.copies.questions`."""
        return self._answer(read_question(question))

    def _answer(self, question: CopyQuestion) -> Iterator[bytes]:
        now = datetime.now(UTC)
        observed = self._observed = self._observed or self._current_plan(now)
        if question.edit:
            yield from map(_encode, predict_edit(self._state, observed, read_edit(question.edit.encode()), now))
            return
        if question.submitted:
            objects = read_submitted(question.submitted.encode(), question.namespace)
            created = as_created(objects, question.namespace, self._kinds, now)
            found = preview_starts(self._state, observed, created, self._kinds, now)
            yield from map(_encode, found)
            return
        if question.forecasts:
            yield _encode(listed_forecasts(observed, known_run_times(self._state)))
            return
        selection = question.selection
        if selection.kind is PENDING:
            yield from self._waiting(observed, selection)
        elif selection.kind is EXPLANATION:
            self._explained = self._explained or Explained(observed, known_run_times(self._state))
            yield from map(_encode, self._explained.objects(selection))
        else:
            yield from self._of_groups(observed, selection)

    def _current_plan(self, now: datetime) -> ObservedPlan:
        return current_plan(self._state, self._latest, now, self._leaderless_since())

    def _of_groups(self, observed: ObservedPlan, selection: Selection) -> Iterator[bytes]:
        for name in filter(selection.takes_group, sorted(observed.snapshot.world.tree.groups)):
            if selection.name == name:
                known = self._state.tree.groups.get(name)
                yield _encode(group_object(observed, name, () if known is None else known.status.budgets))
            elif not selection.name:
                line = made_for(selection, name, partial(self._listed, observed, name))
                if line is not None:
                    yield line

    def _listed(self, observed: ObservedPlan, name: str) -> bytes:
        if name not in self._groups:
            self._groups[name] = _encode(listed_group(observed, name))
        return self._groups[name]

    def _waiting(self, observed: ObservedPlan, selection: Selection) -> Iterator[bytes]:
        for place in places_of(observed, selection.namespace or None, selection.groups):
            if not selection.name or is_called(place.workload, selection.name):
                line = made_for(selection, place.workload.key, partial(self._line, observed, place))
                if line is not None:
                    yield line

    def _line(self, observed: ObservedPlan, place: Place) -> bytes | None:
        """Return the object of one place; None for a workload that does not wait any more."""
        key = place.workload.id
        if key not in self._pending:
            found = pending_object(observed, place)
            self._pending[key] = None if found is None else _encode(found)
        return self._pending[key]
