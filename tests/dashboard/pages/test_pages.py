"""What the pages are told, computed from worlds made here; the numbers and sentences are those of the command line."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from dashboard.http.stream import event
from dashboard.view.frame import Frame
from dashboard.view.history import History
from dashboard.view.lending import pools_of
from dashboard.view.pages.ahead import ahead
from dashboard.view.pages.group import UnknownName, group_page
from dashboard.view.pages.nodes import flavor_list, node_slice
from dashboard.view.pages.workload import workload_page
from dashboard.view.queue import Order, Part, slice_of
from dashboard.view.tree import TreeLines
from shared.api.conditions import Condition
from shared.api.owner_settings import OwnRunTime
from shared.api.quotagroup import QuotaGroupStatus, QuotaStatus, WorkloadCounts
from shared.quota.measure.division_table import division_tables, table_as_data
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.resources import FlavorResource
from tests.builders import NOW, after, evicting, pending, running, world
from tests.dashboard.site import frame_of

GPU_KEY = FlavorResource("default", "gpu")
TREE = """
root 8
  research/ 6
    vision 4
    nlp 2
  serving 2
"""


def _busy() -> Frame:
    """vision idle but for 1, nlp borrows 2, and more waits than fits."""
    workloads = [
        running("vision", 1, "v"),
        running("nlp", 4, "n", since=after(-60)),
        *(pending("nlp", 4, f"w{number}", queued=after(number)) for number in range(3)),
    ]
    return frame_of(world(TREE, workloads))


def _rows(lines_by_name: dict[str, bytes]) -> dict[str, object]:
    return {name: msgspec.json.decode(line) for name, line in lines_by_name.items()}


def test_expected_use_is_drawn_where_enough_is_known_and_says_why_not() -> None:
    lasting = replace(running("vision", 1, "v"), run_time=OwnRunTime(timedelta(hours=2)))
    found = ahead(frame_of(world(TREE, [lasting])), "vision", GPU_KEY)
    assert (len(found["times"]), found["times"][0], found["most"][0], found["most"][-1]) == (49, NOW.timestamp(), 1, 0)
    assert found["text"] == (
        "It lies between the two curves in 80 % of the cases. Nothing else comes: what came of late is not known."
    )
    unknown = ahead(_busy(), "nlp", GPU_KEY)
    assert (unknown["times"], unknown["text"][:10]) == ([], "Not known:")
    few_rights = ahead(frame_of(world(TREE, [lasting]), complete=False), "vision", GPU_KEY)
    assert few_rights["text"] == "That is computed from all workloads and nodes, which you cannot see."


def test_line_has_the_numbers_of_the_group_as_text_and_amounts() -> None:
    nlp = _rows(dict(TreeLines().show(_busy())))["nlp"]
    assert nlp == {
        "name": "nlp",
        "parent": "research",
        "isParent": False,
        "pending": 3,
        "admitted": 1,
        "note": "",
        "keys": [
            {
                "flavor": "default", "resource": "gpu", "min": 2, "used": 4, "runtime": 7, "borrowed": 2, "request": 16,
                "text": {"min": "2", "used": "4", "runtime": "7", "borrowed": "2", "request": "16"},
            }
        ],
    }  # fmt: skip


def test_only_changed_lines_are_sent() -> None:
    tree, first = TreeLines(), frame_of(world(TREE.replace("root 8", "root 80"), [running("nlp", 4, "n")]))
    has = dict(tree.show(first))
    again = dict(tree.show(replace(first, number=2)))
    assert msgspec.json.decode(event(first, has, again)[6:])["rows"] == []
    changed = frame_of(first.world.with_changes([(None, pending("serving", 1, "s"))]), 3)
    sent = msgspec.json.decode(event(changed, has, dict(tree.show(changed)))[6:])
    assert [row["name"] for row in sent["rows"]] == ["root", "serving"]
    assert sent["gone"] == []


def test_deleted_group_is_reported() -> None:
    tree, first = TreeLines(), _busy()
    has = dict(tree.show(first))
    smaller = frame_of(world("root 8\n  serving 2"), 2)
    sent = msgspec.json.decode(event(smaller, has, dict(tree.show(smaller)))[6:])
    assert sent["gone"] == ["nlp", "research", "vision"]


def test_user_with_partial_rights_gets_the_numbers_of_the_statuses() -> None:
    status = QuotaGroupStatus(
        conditions=[Condition("Stopped", "True", "Hold", "")],
        quotas=[QuotaStatus(flavor="default", min={"cpu": "2"}, used={"cpu": "500m"}, runtime={"cpu": "3"})],
        workloads=WorkloadCounts(pending=4, admitted=5),
    )
    frame = frame_of(world(TREE), complete=False, notices=["nodes are not shown"], statuses={"nlp": status})
    row = msgspec.json.decode(TreeLines().show(frame)["nlp"])
    assert (row["pending"], row["admitted"], row["note"]) == (4, 5, "Stopped")
    assert row["keys"][0]["text"] == {"min": "2", "used": "500m", "runtime": "3", "borrowed": "0", "request": "0"}
    assert msgspec.json.decode(event(frame, {}, {})[6:])["notices"] == ["nodes are not shown"]


def test_a_group_page_shows_how_its_runtime_is_divided() -> None:
    page = group_page(_busy(), "nlp", GPU_KEY, History())
    assert page["path"] == ["root", "research", "nlp"]
    (division,) = page["divisions"]
    assert division["text"].startswith(
        "research has 8 of gpu in default to divide: 3 are given first, 5 are shared in proportion to weight"
    )
    assert {row["group"]: row["text"]["runtime"] for row in division["rows"]} == {"nlp": "7", "vision": "1"}
    assert page["mins"] == [{"flavor": "default", "resource": "gpu", "text": "2"}]


def test_a_group_page_shows_a_tenant_the_division_that_the_api_tells() -> None:
    busy = _busy()
    assert busy.outlook is not None
    tables = [table_as_data(each) for each in division_tables(busy.outlook.given, "nlp")]
    bare = frame_of(world(TREE), complete=False, statuses={"nlp": QuotaGroupStatus()})
    assert group_page(bare, "nlp", GPU_KEY, History())["divisions"] == []
    page = group_page(bare, "nlp", GPU_KEY, History(), tables)
    assert page["divisions"] == group_page(busy, "nlp", GPU_KEY, History())["divisions"]


def test_unknown_group_is_reported_as_unknown() -> None:
    with pytest.raises(UnknownName, match="there is no QuotaGroup 'nobody'"):
        group_page(_busy(), "nobody", GPU_KEY, History())


def test_idle_quota_and_borrowed_quota_are_listed_by_group() -> None:
    given = frame_of(world("root 8\n  a 4\n  b 2", [running("a", 1, "x"), running("b", 4, "y")])).outlook
    assert given is not None
    (pool,) = pools_of(given, "root")
    assert [(each["label"], each["amount"]) for each in pool["lenders"]] == [("a", 3), ("promised to no group", 2)]
    assert [(each["label"], each["amount"]) for each in pool["borrowers"]] == [("b", 2), ("idle", 3)]


def test_queue_is_paged_with_position_and_reason() -> None:
    frame = _busy()
    part = slice_of(frame, "research", Part.PENDING, 1, 1)
    assert (part["total"], part["first"]) == (3, 1)
    (item,) = part["items"]
    assert (item["workload"], item["place"], item["reason"]) == ("ns/w1", 2, "WaitingForQuota")
    assert item["message"] == "group 'root' lacks 1 of default/gpu (request 4, free 3); runs when used falls to 4"


def test_a_queue_can_be_searched_by_name() -> None:
    assert [each["workload"] for each in slice_of(_busy(), "root", Part.PENDING, 0, 9, text="w2")["items"]] == ["ns/w2"]


@pytest.mark.parametrize(
    ("order", "first"),
    [
        (Order(), "ns/w0"),
        (Order("place", down=True), "ns/old"),
        (Order("workload"), "ns/a"),
        (Order("priority", down=True), "ns/z"),
        (Order("queued", down=True), "ns/old"),
        (Order("unknown"), "ns/w0"),
    ],
    ids=str,
)
def test_a_queue_can_be_sorted(order: Order, first: str) -> None:
    workloads = [
        pending("nlp", 20, "w0", queued=after(-2), priority=1),
        pending("nlp", 20, "a", queued=after(-1), priority=1),
        pending("vision", 20, "old", queued=after(-99)),
        pending("vision", 20, "z", queued=after(-98), priority=7),
    ]
    frame = frame_of(world(TREE, [*workloads[:2], replace(workloads[3], group="serving"), workloads[2]]))
    assert slice_of(frame, "root", Part.PENDING, 0, 1, order=order)["items"][0]["workload"] == first


def test_running_and_evicted_workloads_are_listed_latest_first() -> None:
    waiting = pending("vision", 7, "new")
    going = evicting(running("nlp", 1, "old", since=after(-5)), waiting, at=after(-1))
    frame = frame_of(world(TREE, [going, running("nlp", 1, "young", since=after(-2)), waiting]))
    assert [each["workload"] for each in slice_of(frame, "nlp", Part.RUNNING, 0, 9)["items"]] == ["ns/old", "ns/young"]
    (evicted,) = slice_of(frame, "root", Part.EVICTED, 0, 9)["items"]
    assert (evicted["evictedFor"], evicted["for"], evicted["state"]) == ("Reclaimed", "ns/new", "Evicting")


def test_workloads_that_the_next_cycle_starts_are_shown_as_starting() -> None:
    frame = frame_of(world(TREE, [pending("nlp", 1, "soon")]))
    assert slice_of(frame, "nlp", Part.PENDING, 0, 9)["total"] == 0
    assert workload_page(frame, "Job", "ns/soon", with_remedies=False)["state"] == "Running"


def test_flavors_and_nodes_are_listed() -> None:
    flavors = [Flavor("a100", node_labels={"model": "a100"}), Flavor("default")]
    nodes = [
        ClusterNode("n1", {"model": "a100"}, {"gpu": 8}),
        ClusterNode("n2", {}, {"gpu": 4}, takes_pods=False),
    ]
    frame = frame_of(replace(world("root", [], flavors), nodes=tuple(nodes)))
    first = flavor_list(frame)[0]
    assert (first["flavor"], first["labels"]) == ("a100", "model=a100")
    assert first["keys"][0]["text"] == {"capacity": "8", "used": "0", "system": "0", "unmanaged": "0"}
    assert node_slice(frame, 0, 9)["items"] == [
        {"node": "n1", "flavor": "a100", "state": "Ready", "allocatable": "8 gpu"},
        {"node": "n2", "flavor": "default", "state": "takes no new pods", "allocatable": "4 gpu"},
    ]
