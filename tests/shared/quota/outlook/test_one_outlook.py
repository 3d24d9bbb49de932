"""The command line, the visibility API, the dashboard and a simulation say the same of what waits."""

from datetime import timedelta

import pytest

from cli.commands.pending import rows_of
from dashboard.view.frame import Frame
from dashboard.view.queue import Part, slice_of
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import pending_object, places_of
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.simulate.run import as_json, run
from shared.quota.outlook.simulate.step import carry_out
from tests.prove.remedies import drawn
from tests.shared.quota.reference.inputs import EPOCH

Row = tuple[str, int, str, str]
"""Workload, place, reason, what it waits for."""


def of_command(world: World) -> list[Row]:
    return [_row(each) for each in rows_of(Outlook.of(world, EPOCH), "root")]


def of_api(world: World) -> list[Row]:
    observed = ObservedPlan(Outlook.of(world, EPOCH), leads=True)
    objects = [pending_object(observed, place) for place in places_of(observed, None)]
    return [
        (
            f"{each['metadata']['namespace']}/{each['metadata']['name']}",
            each["status"]["position"],
            each["status"]["reason"],
            each["status"]["message"].partition(" waits: ")[2],
        )
        for each in objects
        if each is not None
    ]


def of_dashboard(world: World) -> list[Row]:
    records = {name: GroupStatusRecord(name, 1, group, QuotaGroupStatus()) for name, group in world.tree.groups.items()}
    frame = Frame(1, EPOCH, world, records, Outlook.of(world, EPOCH), ())
    items = slice_of(frame, "root", Part.PENDING, 0, 200)["items"]
    return [(each["workload"], each["place"], each["reason"], each["message"]) for each in items]


def of_simulation(world: World) -> list[tuple[str, str, str]]:
    found = (_row({**each, "position": 0}) for each in as_json(run(world, EPOCH, cycles=1))["pending"])
    return [(workload, reason, text) for workload, _, reason, text in found]


def _row(data: dict[str, object]) -> Row:
    message = str(data["message"]).partition(" waits: ")[2]
    return str(data["workload"]), int(str(data["position"])), str(data["reason"]), message


@pytest.mark.parametrize("seed", range(10))
def test_all_who_show_what_waits_say_the_same_while_work_starts(seed: int) -> None:
    world = drawn(seed)
    for _ in range(3):
        rows = of_command(world)
        assert of_api(world) == rows
        assert of_dashboard(world) == rows
        world = carry_out(world, plan(measure(world, EPOCH)))
    rows = of_command(world)
    if plan(measure(world, EPOCH)).is_idle:
        assert of_simulation(world) == [(workload, reason, text) for workload, _, reason, text in rows]


@pytest.mark.parametrize("seed", range(10))
def test_cache_of_the_next_plan_changes_no_word_of_the_outlook(seed: int) -> None:
    world, cache, now = drawn(seed), CycleCache(), EPOCH
    for _ in range(3):
        given = measure(world, now)
        decided = plan(given, cache)
        cached, fresh = Outlook(given, decided, cache), Outlook(given, decided)
        assert [each.as_data() for each in cached.rows] == [each.as_data() for each in fresh.rows]
        world, now = carry_out(world, decided), now + timedelta(seconds=1)
