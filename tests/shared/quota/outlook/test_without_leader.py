"""While no reconciler leads, nothing that the next plan decides is shown as done, by any reader."""

from datetime import timedelta

import pytest

from cli.commands.pending import rows_of
from dashboard.view.frame import Frame
from dashboard.view.pages.workload import workload_page
from dashboard.view.queue import Part, slice_of
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import pending_object, places_of
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.json_data import Json
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.forecast.forecast import forecast_as_data
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.preview import previews, submitted
from shared.text import explanation
from shared.text.what_if import preview_lines
from tests.builders import NOW, pending, running, world
from tests.prove.remedies import drawn
from tests.shared.quota.reference.inputs import EPOCH

SINCE = NOW - timedelta(minutes=5)
AS_SOON = f"as soon as a reconciler leads; none has led since {SINCE.isoformat(timespec='seconds')}"
TREE = "root 8\n  a 4\n  b 4"


def outlook(given: World) -> Outlook:
    return Outlook.of(given, NOW, leaderless_since=SINCE)


def explained(given: World, name: str) -> Json:
    found = outlook(given)
    wanted = next(each for own in given.workload_sets.values() for each in own.by_id.values() if each.key == name)
    return found.explained(wanted)


def frame(given: World) -> Frame:
    records = {name: GroupStatusRecord(name, 1, group, QuotaGroupStatus()) for name, group in given.tree.groups.items()}
    return Frame(1, NOW, given, records, outlook(given), (), leaderless_since=SINCE)


def test_what_would_start_waits_for_a_leader() -> None:
    found = explained(world(TREE, [pending("a", 2, "x")]), "ns/x")
    assert (found["state"], found["position"], found["reason"]) == ("Pending", 1, "NoLeader")
    assert found["message"] == f"Job 'ns/x' waits: it starts {AS_SOON}"
    assert (found["remedies"], found["startsAt"]) == ([], None)
    assert found["leaderlessSince"] == SINCE.isoformat(timespec="seconds")
    head = [*explanation.lines(found)]
    assert head[1].startswith("no reconciler leads since ")


def test_preemptor_waits_for_a_leader_and_its_victim_runs() -> None:
    given = world(TREE, [running("b", 8, "big"), pending("a", 2, "x")])
    assert explained(given, "ns/x")["message"] == f"Job 'ns/x' waits: room is freed for it {AS_SOON}"
    victim = explained(given, "ns/big")
    assert victim["state"] == "Running"
    assert victim["message"].endswith(f"; it is stopped (Reclaimed) {AS_SOON}")


def test_what_would_wait_all_the_same_says_why_and_where_it_stands() -> None:
    given = world(TREE, [pending("a", 6, "x"), pending("a", 6, "y")])
    found = explained(given, "ns/y")
    assert (found["position"], found["reason"]) == (2, "WaitingForQuota")
    assert {each["do"] for each in found["remedies"]} >= {"AddCapacity"}
    assert [(each.position, each.why.reason) for each in outlook(given).rows] == [
        (1, "NoLeader"),
        (2, "WaitingForQuota"),
    ]


def test_nothing_is_forecast() -> None:
    given = world(TREE, [running("a", 8, "r"), pending("a", 6, "x")])
    found = outlook(given)
    assert forecast_as_data(found, [each.workload for each in found.rows]) == {}


def test_preview_says_that_it_waits_for_a_leader() -> None:
    before = world(TREE, [running("b", 8, "big")])
    after = before.with_changes([(None, pending("a", 2, "new"))])
    (found,) = previews(outlook(after), submitted(before, after))
    assert found["starts"] == "WithLeader"
    assert [*preview_lines([found])][:2] == [
        "Job 'ns/new' would start as soon as a reconciler leads, and what it stops has ended",
        found["message"],
    ]


def test_dashboard_lists_and_explains_it_as_waiting() -> None:
    given = frame(world(TREE, [pending("a", 2, "x")]))
    assert [each["reason"] for each in slice_of(given, "a", Part.PENDING, 0, 9)["items"]] == ["NoLeader"]
    assert slice_of(given, "a", Part.RUNNING, 0, 9)["items"] == []
    page = workload_page(given, "Job", "ns/x", with_remedies=True)
    assert (page["state"], page["sentence"]) == ("Pending", f"Waits: it starts {AS_SOON}")


@pytest.mark.parametrize("seed", range(12))
def test_every_waiting_workload_has_one_row_with_every_reader(seed: int) -> None:
    given = drawn(seed)
    found = Outlook.of(given, EPOCH, leaderless_since=EPOCH)
    waiting = sorted(each.key for own in given.workload_sets.values() for each in own.by_id.values() if each.is_pending)
    rows = [*rows_of(found, "root")]
    assert sorted(each["workload"] for each in rows) == waiting
    observed = ObservedPlan(found, leads=False)
    objects = [pending_object(observed, place) for place in places_of(observed, None)]
    served = [each["status"]["message"] for each in objects if each is not None]
    assert served == [each["message"] for each in rows]
    decided = plan(measure(given, EPOCH))
    starts = {start.workload.key for start in decided.starts}
    assert starts <= {each["workload"] for each in rows if each["reason"] == "NoLeader"}
    explanations = {
        each.key: found.explanation(each) for own in given.workload_sets.values() for each in own.by_id.values()
    }
    assert {each["workload"]: (each["position"], each["message"]) for each in rows} == {
        name: (each.position, each.message) for name, each in explanations.items() if name in waiting
    }
