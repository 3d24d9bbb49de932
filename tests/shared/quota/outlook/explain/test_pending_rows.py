"""PendingRows lists what waits by group and place, and what waits for its own reasons without a place."""

from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.explain.pending_rows import PendingRows
from tests.builders import NOW, pending, world


def test_what_waits_for_its_own_reasons_has_no_place_and_what_the_plan_starts_no_row() -> None:
    starts, waits = pending("a", 4, "starts", priority=1), pending("a", 1, "waits")
    held = pending("a", 1, "held", hold=True)
    rows = PendingRows(plan(measure(world("root 4\n  a 4", [starts, waits, held]), NOW)))
    assert [(each.workload.key, each.position) for each in rows.places()] == [(waits.key, 1), (held.key, 0)]
    assert [each.position for each in rows] == [1, 0]
