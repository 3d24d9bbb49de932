"""An object that cannot be made is missing from lists, and is an error where it is asked for by name."""

from typing import Any

import msgspec
import pytest

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.copies import answering
from reconciler.visibility.copies.answering import CopiedWorld
from reconciler.visibility.copies.questions import question_of
from reconciler.visibility.objects.kinds import EXPLANATION, GROUPS, PENDING, VisibleKind
from reconciler.visibility.objects.selection import Selection
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from shared.quota.outlook.outlook import Outlook
from tests.builders import NOW, pending, running, world

STEPS = {
    PENDING: (answering, "pending_object", "two"),
    EXPLANATION: (Outlook, "explanation", "two"),
    GROUPS: (answering, "listed_group", "nlp"),
}
"""Kind -> the step that fails, and on which object."""


def copied_world() -> CopiedWorld:
    work = (running("nlp", 4, "base"), running("vision", 4, "own"), pending("vision", 3, "one"))
    snapshot = measure(world("root 8\n  vision 4\n  nlp 4", [*work, pending("vision", 3, "two")]), NOW)
    latest = LatestPlan()
    latest.show(snapshot, plan(snapshot))
    return CopiedWorld(ClusterState(QuotaSettings()), latest)


def names(selection: Selection) -> list[str]:
    lines = copied_world().answer(msgspec.json.encode(question_of(selection)))
    return [msgspec.json.decode(line)["metadata"]["name"] for line in lines]


@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.plural)
def test_list_does_without_an_object_that_cannot_be_made(kind: VisibleKind, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, step, faulty = STEPS[kind]
    make = getattr(owner, step)

    def failing(*arguments: Any) -> Any:
        found = getattr(arguments[1], "workload", arguments[1])
        if getattr(found, "key", found) in (f"ns/{faulty}", faulty):
            raise ArithmeticError(faulty)
        return make(*arguments)

    whole = names(Selection(kind))
    assert faulty in whole
    monkeypatch.setattr(owner, step, failing)
    assert names(Selection(kind)) == [each for each in whole if each != faulty]


def test_object_that_cannot_be_made_is_an_error_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "pending_object", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        names(Selection(PENDING, "ns", "one"))
