"""Why work waits: the group, flavor and resource that bind, the missing amount, and a sentence.

See docs/specification.md §9.2.
"""

import pytest

from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import BlockAdmission, ReclaimMode
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.explanation import explain
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.builders import NOW, after, pending, running, world
from tests.shared.quota.decide.plan_words import decide, waits


def binding(groups: str, work: list[Workload], of: str = "new") -> tuple[str, str, str, str, int]:
    [found] = [each for each in PendingReasons(decide(groups, work)) if each.workload.key == f"ns/{of}"]
    return (found.reason.value, found.binding, found.flavor, found.resource, found.missing)


@pytest.mark.parametrize(
    ("groups", "work", "expected"),
    [
        pytest.param(
            "root 8\n  a 2..4\n  b 4",
            [running("a", 2, "x"), pending("a", 4, "new")],
            ("WaitingForQuota", "a", "default", "gpu", 2),
            id="the leaf's ceiling",
        ),
        pytest.param(
            "root 12\n  p/ 4..6\n    a 2\n    c 2",
            [running("c", 4, "x", preemptible=False), pending("a", 4, "new")],
            ("WaitingForQuota", "p", "default", "gpu", 2),
            id="an ancestor's ceiling",
        ),
        pytest.param(
            "root 8\n  a 4\n  b 4",
            [running("b", 6, "x", preemptible=False), pending("a", 4, "new")],
            ("WaitingForQuota", "root", "default", "gpu", 2),
            id="the cluster",
        ),
        pytest.param(
            "root 8\n  a 4\n  b 4",
            [running("a", 4, "x"), pending("a", 3, "new", preemptible=False), running("a", 2, "y", preemptible=False)],
            ("BeyondMin", "a", "default", "gpu", 1),
            id="effectiveMin, for work that is not preemptible",
        ),
        pytest.param(
            "root 8\n  a 4..6\n  b 4",
            [pending("a", 7, "new")],
            ("NeverFits", "a", "default", "gpu", 1),
            id="could never fit",
        ),
        pytest.param(
            "root 8\n  a 4\n  b 4 l0",
            [pending("a", 5, "new")],
            ("NeverFits", "root", "default", "gpu", 1),
            id="could never fit beside what others keep",
        ),
        pytest.param(
            "root 8\n  a 4\n  b 4",
            [running("a", 8, "x"), pending("b", 2, "b1"), pending("a", 2, "new")],
            ("WaitingForQuota", "root", "default", "gpu", 2),
            id="full, and claimed",
        ),
        pytest.param("p/ hold 4\n  a 4", [pending("a", 1, "new")], ("GroupStopped", "p", "", "", 0), id="stopped"),
        pytest.param(
            "p/ close 4\n  a 4",
            [pending("a", 1, "new", hold=True)],
            ("Held", "", "", "", 0),
            id="set aside by its owner, in a closed group",
        ),
    ],
)
def test_binding_group_is_named_with_the_missing_amount(
    groups: str, work: list[Workload], expected: tuple[str, str, str, str, int]
) -> None:
    assert binding(groups, work) == expected


@pytest.mark.parametrize(
    ("groups", "waiting", "expected", "message"),
    [
        pytest.param(
            "a 4..6",
            pending("a", 7, "new", only_flavor="b"),
            ("NoEligibleFlavor", "a", "b", "gpu", 0),
            "no flavor may serve gpu: flavor default: the workload takes flavor b only, which its group does not have",
            id="a flavor that the group lacks, and too large for the one that it has",
        ),
        pytest.param(
            "a 4..6",
            pending("a", {"fpga": 1, "gpu": 7}, "new"),
            ("NoEligibleFlavor", "a", "", "fpga", 0),
            "no quota entry covers fpga",
            id="a resource that the group lacks, and too much of another",
        ),
        pytest.param(
            "a 4..6 | b:cpu 4",
            pending("a", {"cpu": 1, "gpu": 7}, "new", blocked_flavors=frozenset({"b"})),
            ("NoEligibleFlavor", "a", "b", "cpu", 0),
            "no flavor may serve cpu: flavor b: a label in the pods' nodeSelector conflicts with this flavor's",
            id="too large in one set, unlike every flavor of another",
        ),
    ],
)
def test_reason_independent_of_amounts_comes_before_missing_amounts(
    groups: str, waiting: Workload, expected: tuple[str, str, str, str, int], message: str
) -> None:
    capacity = (("default", "gpu", 8), ("b", "gpu", 8), ("b", "cpu", 8))
    plan = decide(groups, [waiting], (Flavor("default"), Flavor("b")), capacity=capacity)
    [found] = PendingReasons(plan)
    assert (found.reason.value, found.binding, found.flavor, found.resource, found.missing) == expected
    assert found.message == f"Job 'ns/new' waits: {message}"


def test_incompatible_flavors_come_before_a_missing_amount() -> None:
    flavors = (Flavor("x", {"kind": "x"}), Flavor("y", {"kind": "y"}))
    waiting = pending("a", {"cpu": 9, "gpu": 1}, "new")
    capacity = (("x", "cpu", 4), ("y", "gpu", 4))
    assert waits(decide("a x:cpu 4 | y:gpu 4", [waiting], flavors, capacity=capacity)) == {"new": "NoEligibleFlavor"}


def test_message_names_the_group_the_amount_and_the_condition_to_start() -> None:
    work = [running("a", 6, "x", preemptible=False), pending("a", 4, "train-7", only_flavor="a100")]
    plan = decide(
        "a a100:gpu 8..8",
        [work[1], running("a", 6, "x", "a100", preemptible=False)],
        (Flavor("a100"),),
        capacity=(("a100", "gpu", 9),),
    )
    assert [each.message for each in PendingReasons(plan)] == [
        "Job 'ns/train-7' waits: group 'a' lacks 2 of a100/gpu (request 4, free 2); runs when used falls to 4"
    ]


@pytest.mark.parametrize(("seconds", "reason"), [(0, "WaitingForQuota"), (1, "BackingOff")])
def test_back_off_ends_at_its_moment(seconds: int, reason: str) -> None:
    work = [running("a", 8, "x", preemptible=False), pending("a", 4, "w", not_before=after(seconds))]
    assert waits(decide("root 8\n  a 8", work)) == {"w": reason}


def test_moved_workload_is_explained_in_its_current_group() -> None:
    work = [running("a", 1, "x", ready=False), pending("a", 1, "w")]
    block = BlockAdmission.GROUP
    plan = decide("root 8\n  a 4\n  b 2..2", work, wait_for_pods_ready=True, block_admission=block)
    assert [each.reason for each in PendingReasons(plan)] == ["PodsNotReady"]
    moved = PendingReasons(plan).why(pending("b", 3, "w"))
    assert moved is not None
    assert moved.reason == "NeverFits"
    again = PendingReasons(plan).why(pending("b", 1, "w"))
    assert again is not None
    assert again.reason == "WaitingForQuota"


@pytest.mark.parametrize(
    ("work", "message"),
    [
        pytest.param(pending("a", 1, "w", hold=True), "its owner holds it with the label quotree.dev/hold", id="held"),
        pytest.param(
            pending("a", 1, "w", deactivated=True, failed_starts=3),
            "3 starts failed; it stays stopped until it is resumed",
            id="deactivated",
        ),
        pytest.param(
            pending("a", 1, "w", not_before=after(5), failed_starts=2),
            "2 starts failed; tried again at 2026-01-01T00:00:05+00:00",
            id="backing off",
        ),
        pytest.param(
            pending("a", 1, "w", not_before=after(5)),
            "its start was refused; tried again at 2026-01-01T00:00:05+00:00",
            id="left alone after a refusal",
        ),
        pytest.param(pending("x", 1, "w"), "'x' is no leaf of the tree", id="no such leaf"),
        pytest.param(pending("a", {"fpga": 1}, "w"), "no quota entry covers fpga", id="not covered"),
        pytest.param(
            pending("a", 1, "w", blocked_flavors=frozenset({"default"})),
            "no flavor may serve gpu: flavor default: a label in the pods' nodeSelector conflicts with this flavor's",
            id="no eligible flavor",
        ),
    ],
)
def test_workload_that_is_not_considered_has_its_reason(work: Workload, message: str) -> None:
    [waiting] = PendingReasons(decide("root 8\n  a 4", [work]))
    assert waiting.message == f"Job 'ns/w' waits: {message}"


def test_starting_or_running_workload_has_no_pending_reason() -> None:
    plan = decide("root 8\n  a 4", [running("a", 1, "x"), pending("a", 1, "new")])
    assert [PendingReasons(plan).why(each.workload) for each in plan.starts] == [None]
    assert PendingReasons(plan).why(running("a", 1, "x")) is None


def test_borrower_in_strict_mode_lacks_the_runtime_of_its_leaf() -> None:
    """There is room, but borrowing would begin above the runtime of 4."""
    others = [running("b", 4, "b0", preemptible=False), pending("b", 9, "b1")]
    work = [*others, running("a", 4, "x"), pending("a", 3, "new")]
    plan = decide("root 12\n  a 4 w0\n  b 4", work, mode=ReclaimMode.STRICT)
    [found] = [each for each in PendingReasons(plan) if each.workload.key == "ns/new"]
    assert (found.reason.value, found.binding, found.missing) == ("WaitingForQuota", "a", 3)


def test_room_that_idle_groups_keep_is_named_and_charge_is_called_charge() -> None:
    groups = "root 10\n  a 6 l2\n  b 4"
    work = [running("a", 1, "own"), running("b", 6, "base"), pending("b", 2, "more")]
    plan = decide(groups, work)
    [found] = PendingReasons(plan)
    assert found.message == (
        "Job 'ns/more' waits: group 'root' lacks 2 of default/gpu (request 2, free 0); "
        "runs when charge falls to 8; idle groups keep 'a' 3 of it"
    )
    explained = explain(measure(world(groups, work), NOW), plan, found.workload)
    assert [(each.group, each.amount) for each in explained.flavors[0].kept] == [("a", 3)]
