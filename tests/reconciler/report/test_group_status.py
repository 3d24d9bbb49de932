"""What a group's status says: numbers, counts, conditions, and since when they are so."""

from dataclasses import replace
from datetime import timedelta

import msgspec

from reconciler.report.status.groups import status_of
from shared.api.conditions import Condition
from shared.api.quotagroup import QuotaGroupStatus, WorkloadCounts
from shared.cluster.state.faults.register import Faults
from shared.cluster.state.group_history import over_since_of
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.measure.counts import Counts
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.lifecycle import Inactive
from shared.resources import FlavorResource
from tests.builders import NOW, after, evicting, pending, running, world
from tests.trees import GPU

KEY, CPU = FlavorResource("default", GPU), FlavorResource("default", "cpu")
TREE = "root 8\n  research/ 6\n    vision 4\n    nlp 2\n  ops 2"


def snapshot(text: str = TREE) -> Snapshot:
    return measure(
        world(
            text,
            [
                running("vision", 2, "one"),
                running("vision", 3, "two", ready=False),
                pending("vision", 1, "three"),
                evicting(running("nlp", 1, "four")),
            ],
        ),
        NOW,
    )


def record(name: str, seen: Snapshot, status: QuotaGroupStatus | None = None) -> GroupStatusRecord:
    return GroupStatusRecord(name, 7, seen.world.tree[name], status or QuotaGroupStatus())


def conditions(status: QuotaGroupStatus) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


def test_a_parent_counts_the_workloads_of_its_subtree() -> None:
    seen = snapshot()
    of_leaf = status_of(record("vision", seen), seen, {}, Counts(), NOW)
    of_parent = status_of(record("research", seen), seen, {}, Counts(), NOW)
    assert of_leaf.workloads == WorkloadCounts(pending=1, admitted=2, ready=1)
    assert of_parent.workloads == WorkloadCounts(pending=1, admitted=3, ready=1)
    assert of_parent.observed_generation == 7


def test_status_numbers_are_the_measured_ones_as_quantities() -> None:
    seen = snapshot()
    (quota,) = status_of(record("vision", seen), seen, {}, Counts(), NOW).quotas
    assert (quota.flavor, quota.min, quota.used, quota.borrowed) == ("default", {GPU: "4"}, {GPU: "5"}, {GPU: "1"})
    (root,) = status_of(record("root", seen), seen, {}, Counts(), NOW).quotas
    assert root.capacity == {GPU: "8"}


def test_status_of_root_has_the_largest_nodes_up_to_a_limit() -> None:
    seen = snapshot()
    (unknown,) = status_of(record("root", seen), seen, {}, Counts(), NOW).quotas
    assert unknown.largest_nodes is None
    for sizes, expected in (
        (({GPU: 8}, {"cpu": 64000}), [{GPU: "8"}, {"cpu": "64"}]),
        ((), []),
        (tuple({GPU: 20 - number, "cpu": number} for number in range(17)), None),
    ):
        seen = measure(replace(seen.world, largest_nodes={"default": sizes}), NOW)
        (root,) = status_of(record("root", seen), seen, {}, Counts(), NOW).quotas
        assert root.largest_nodes == expected
    (vision,) = status_of(record("vision", seen), seen, {}, Counts(), NOW).quotas
    assert vision.largest_nodes is None


def test_open_group_is_active_and_ready_and_nothing_else() -> None:
    seen = snapshot()
    assert conditions(status_of(record("vision", seen), seen, {}, Counts(), NOW)) == {
        "Active": ("True", "Active"),
        "Drained": ("False", "NotDraining"),
        "OverRuntime": ("False", "WithinRuntime"),
        "Ready": ("True", "Measured"),
        "Stopped": ("False", "Open"),
        "HasNodes": ("Unknown", "NotCompared"),
    }


def test_draining_group_reports_when_it_is_empty() -> None:
    seen = snapshot("root 8\n  research/ 6 drain\n    vision 4\n    nlp 2\n  ops 2 drain")
    assert conditions(status_of(record("research", seen), seen, {}, Counts(), NOW))["Drained"] == ("False", "Draining")
    assert conditions(status_of(record("research", seen), seen, {}, Counts(), NOW))["Ready"] == ("False", "Draining")
    assert conditions(status_of(record("vision", seen), seen, {}, Counts(), NOW))["Stopped"] == ("True", "HoldAndDrain")
    assert conditions(status_of(record("ops", seen), seen, {}, Counts(), NOW))["Drained"] == ("True", "Empty")


def test_group_is_ready_once_the_cluster_is_as_its_spec_says() -> None:
    seen = snapshot("root 8\n  research/ 6 drain\n    vision 4\n    nlp 2\n  ops 2 drain\n  lost 1 hold")
    absent = replace(seen, inactive={"lost": Inactive("ParentAbsent", "no parent")})

    def ready(name: str, seen: Snapshot) -> tuple[str, str]:
        return conditions(status_of(record(name, seen), seen, {}, Counts(), NOW))["Ready"]

    assert (ready("ops", seen), ready("lost", seen)) == (("True", "Measured"), ("True", "Measured"))
    assert ready("lost", absent) == ("False", "ParentAbsent")


def test_over_runtime_times_are_read_back_by_key() -> None:
    work = [running("vision", {GPU: 5, "cpu": 5}, "one"), pending("ops", {GPU: 2, "cpu": 2}, "two")]
    seen = measure(world("root 8 default:cpu 8\n  vision 4 default:cpu 4\n  ops 2 default:cpu 2", work), NOW)
    over = {("vision", KEY): after(-30), ("vision", CPU): after(-10)}
    status = status_of(record("vision", seen), seen, over, Counts(), NOW)
    assert conditions(status)["OverRuntime"] == ("True", "Borrowing")
    assert {each.type: each.last_transition_time for each in status.conditions}["OverRuntime"] == after(-30)
    stored = msgspec.json.decode(msgspec.json.encode(status), type=QuotaGroupStatus)
    assert over_since_of([record("vision", seen, stored), record("ops", seen)], Faults()) == over


def test_condition_keeps_its_transition_time_while_its_status_is_unchanged() -> None:
    seen = snapshot()
    first = status_of(record("vision", seen), seen, {}, Counts(), NOW)
    later = status_of(record("vision", seen, first), seen, {}, Counts(), NOW + timedelta(hours=1))
    assert later == first
    frozen = replace(seen, inactive={"vision": Inactive("Cycle", "a -> b -> a")})
    changed = status_of(record("vision", seen, first), frozen, {}, Counts(), NOW + timedelta(hours=1))
    times = {each.type: each.last_transition_time for each in changed.conditions}
    assert times == {
        "Active": NOW + timedelta(hours=1),
        "Drained": NOW,
        "OverRuntime": NOW,
        "Ready": NOW + timedelta(hours=1),
        "Stopped": NOW,
        "HasNodes": NOW,
    }


def test_status_survives_a_json_round_trip() -> None:
    seen = snapshot()
    status = status_of(record("vision", seen), seen, {("vision", KEY): NOW}, Counts(), NOW)
    assert all(isinstance(each, Condition) for each in status.conditions)
    assert msgspec.json.decode(msgspec.json.encode(status), type=QuotaGroupStatus) == status
