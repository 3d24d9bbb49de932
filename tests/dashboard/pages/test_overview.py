"""The overview and its past."""

from datetime import timedelta

from dashboard.view.history import CAPACITY, LENT, PENDING, History
from dashboard.view.pages.overview import overview
from shared.api.quotagroup import QuotaGroupStatus, QuotaStatus, WorkloadCounts
from shared.resources import FlavorResource
from tests.builders import NOW, after, pending, running, world
from tests.dashboard.site import frame_of

KEY = FlavorResource("default", "gpu")
TREE = """
root 8
  research/ 6
    vision 4
    nlp 2
  serving 2
"""
WORKLOADS = (
    running("vision", 1, "v"),
    running("nlp", 4, "n", since=after(-60)),
    *(pending("nlp", 4, f"w{number}", queued=after(number - 60)) for number in range(3)),
    pending("serving", 9, "held", hold=True, queued=after(-9000)),
)


def test_overview_says_what_there_is_and_what_is_missing() -> None:
    page = overview(frame_of(world(TREE, WORKLOADS)), KEY, History())
    assert {word: page["total"][word] for word in ("capacity", "used", "borrowed", "free", "unmet")} == {
        "capacity": 8, "used": 5, "borrowed": 2, "free": 3, "unmet": 12
    }  # fmt: skip
    assert page["waiting"] == 4
    (tight,) = page["tight"]
    assert (tight["group"], tight["pending"], tight["unmet"]) == ("nlp", 3, 12)
    assert [each["workload"] for each in page["longest"]] == ["ns/w0", "ns/w1", "ns/w2"]
    assert page["longest"][0]["message"].startswith("group 'root' lacks 1")
    assert [each["parent"] for each in page["pools"]] == ["root"]
    assert page["lendingBelow"] == ["research"]
    assert [each["resource"] for each in page["keys"]] == ["gpu"]


def test_overview_without_full_rights_shows_the_statuses() -> None:
    own = QuotaStatus(flavor="default", used={"gpu": "7"}, runtime={"gpu": "8"}, request={"gpu": "9"})
    status = QuotaGroupStatus(quotas=[own], workloads=WorkloadCounts(pending=3))
    frame = frame_of(world(TREE), complete=False, statuses={"root": status, "nlp": status})
    page = overview(frame, KEY, History())
    assert (page["total"]["capacity"], page["total"]["used"], page["waiting"]) == (8, 7, 3)
    assert [(each["group"], each["unmet"]) for each in page["tight"]] == [("nlp", 2)]
    assert page["pools"] == []


def test_history_is_bounded_and_always_covers_the_whole_time() -> None:
    history = History(step=timedelta(seconds=5), most=8)
    for second in range(0, 500, 5):
        frame = frame_of(world("root 8\n  a 4", [running("a", second // 100 + 1, "r")]), second, after(second))
        history.add(frame)
    times = history.times()
    assert len(times) <= 8
    assert times[0] == NOW.timestamp()
    assert times[-1] >= after(400).timestamp()
    assert history.of("a", KEY, "used") == [float(int(time - times[0]) // 100 + 1) for time in times]
    assert set(history.of("root", KEY, CAPACITY)) == {8.0}
    assert history.of("root", KEY, LENT)[-1] == history.of("a", KEY, "borrowed")[-1]


def test_history_of_a_later_group_has_no_numbers_before() -> None:
    history = History()
    history.add(frame_of(world("root 8\n  a 4", [pending("a", 9, "w")]), 1, after(0)))
    history.add(frame_of(world("root 8\n  a 4\n  b 2"), 2, after(1)))
    history.add(frame_of(world("root 8\n  a 4\n  b 2"), 3, after(10)))
    assert history.times() == [after(0).timestamp(), after(10).timestamp()]
    assert history.of("b", KEY, "min") == [None, 2.0]
    assert history.of("root", None, PENDING) == [1.0, 0.0]
    assert history.of("nobody", KEY, "used") == [None, None]
