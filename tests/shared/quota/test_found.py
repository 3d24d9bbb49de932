"""What the search and the comparison once found wrong in the engine, each in its smallest form."""

from datetime import timedelta

from shared.quota.decide.decisions import WaitReason
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, QueueingStrategy, Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.resources import FlavorResource
from tests.builders import after, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, started_and_evicted, waits
from tests.shared.quota.reference.inputs import EPOCH


def test_workload_that_accepts_only_an_uncovered_flavor_counts_nowhere_and_never_starts() -> None:
    tree = Tree.of([Group("team", quotas=(Entry("a", min={"cpu": 4}),))])
    job = Workload("ns/job", "team", {"cpu": 1}, created=EPOCH, queued=EPOCH, only_flavor="b")
    settings = QuotaSettings(capacity=(("a", "cpu", 4), ("b", "cpu", 4)))
    snapshot = measure(World.of(tree, [Flavor("a"), Flavor("b")], [job], settings=settings), EPOCH)
    decided = plan(snapshot)
    waiting = PendingReasons(decided).why(job)

    assert snapshot.numbers["team"][FlavorResource("a", "cpu")].request == 0
    assert decided.starts == ()
    assert waiting is not None
    assert waiting.reason is WaitReason.NO_ELIGIBLE_FLAVOR
    assert waiting.message == (
        "Job 'ns/job' waits: no flavor may serve cpu: "
        "flavor a: the workload takes flavor b only, which its group does not have"
    )


def test_no_swap_for_room_that_an_eviction_of_the_same_cycle_frees() -> None:
    early = running("a", 3, "early", since=after(-20))
    late = running("a", 4, "late", since=after(-10))
    preemptor = pending("a", 2, "preemptor", priority=1)
    decided = decide("root 6\n  a 1 w0", [early, late, preemptor])

    assert (started_and_evicted(decided), waits(decided)) == (
        ([], ["late Ceiling"]),
        {"preemptor": "WaitingForEvictions"},
    )


def test_delayed_entitlement_of_a_leaf_is_not_used_up_by_borrowing() -> None:
    work = [running("a", 2, "owes"), pending("b", 3, "older", created=after(-9)), pending("b", 1, "younger")]
    decided = decide("root 4\n  a 0\n  b 2", work, notice=timedelta(seconds=40))

    assert [each.workload.key for each in decided.notices] == ["ns/owes"]
    assert (started_and_evicted(decided), waits(decided)) == (
        ([], []),
        {"older": "RoomDelayed", "younger": "RoomKeptForOthers"},
    )


def test_entitlement_of_a_workload_waiting_for_evictions_of_others_is_not_used_up_by_borrowing() -> None:
    work = [
        evicting(running("a", 2, "leaves")),
        pending("b", 3, "older", created=after(-9)),
        pending("b", 1, "younger"),
    ]
    decided = decide("root 4\n  a 0\n  b 2", work)

    assert (started_and_evicted(decided), waits(decided)) == (
        ([], []),
        {"older": "WaitingForEvictions", "younger": "RoomKeptForOthers"},
    )


def test_notices_of_one_plan_stand_until_all_have_lasted_long_enough() -> None:
    """The first one's notice has run out, the second one's has not: neither is taken back, nobody goes yet."""
    work = [
        running("a", 1, "first", notice=after(-40)),
        running("a", 1, "second", notice=after(-10)),
        running("a", 2, "third", since=after(-99)),
        pending("b", 2, "preemptor"),
    ]
    decided = decide("root 4\n  a 0\n  b 2", work, notice=timedelta(seconds=30))

    assert (decided.notices_withdrawn, started_and_evicted(decided), decided.wake_at) == ((), ([], []), after(20))


def test_workload_behind_a_strict_head_names_the_shortage_of_another_flavor() -> None:
    quotas = (Entry("b", min={"cpu": 0}), Entry("a", min={"cpu": 0}))
    tree = Tree.of([Group("team", quotas=quotas, queueing=QueueingStrategy.STRICT_FIFO), Group("other", quotas=quotas)])
    work = [
        running("other", {"cpu": 2}, "theirs", flavors="b"),
        running("team", {"cpu": 1}, "ours", flavors="a"),
        pending("team", {"cpu": 2}, "head", created=after(-9)),
        pending("team", {"cpu": 1}, "behind"),
    ]
    decided = decide(tree, work, [Flavor("a"), Flavor("b")], capacity=(("a", "cpu", 1), ("b", "cpu", 3)))
    waiting = PendingReasons(decided).why(work[-1])

    assert waiting is not None
    assert (waiting.reason, waiting.binding, waiting.flavor, waiting.missing) == (
        WaitReason.WAITING_FOR_QUOTA,
        "root",
        "a",
        1,
    )
