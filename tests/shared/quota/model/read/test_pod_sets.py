"""Which sets the pods of a group form, how they are named, and what keeps them from starting together."""

from typing import Any

import pytest

from shared.api.annotations import AdmissionAnnotation, write_annotation
from shared.api.core.placement import Placement
from shared.api.core.pod import Pod, read_pod
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import ObjectState, Reading
from shared.quota.model.read.pod_sets import Member, read_pod_sets
from shared.quota.model.read.pods import workload_of_pod_group
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import PodSet
from tests.builders import NOW

CPU, GPU = {"cpu": 1000}, {"cpu": 1000, "gpu": 2}


def member(label: str = "", request: dict[str, int] | None = None, **selector: str) -> Member:
    return Member(label, request or CPU, Placement(selector))


def test_equal_pods_are_one_pod_set() -> None:
    assert read_pod_sets([member(), member()], {}) == ((PodSet("main", {"cpu": 2000}, 2, Placement({})),), ())


def test_labels_separate_equal_pods_into_pod_sets() -> None:
    found = read_pod_sets([member("head"), member("rest"), member("rest")], {})
    assert [(each.name, each.request, each.pods) for each in found.found] == [
        ("head", {"cpu": 1000}, 1),
        ("rest", {"cpu": 2000}, 2),
    ]


def test_different_pods_are_pod_sets_in_the_order_of_their_first_pods() -> None:
    wide, placed = member(request=GPU), member(zone="a")
    found = read_pod_sets([wide, member(), placed, member(), wide], {}).found
    assert [(each.request, each.pods) for each in found] == [
        ({"cpu": 2000, "gpu": 4}, 2),
        ({"cpu": 2000}, 2),
        ({"cpu": 1000}, 1),
    ]
    assert [each.name for each in found] == [wide.pod_set, member().pod_set, placed.pod_set]
    assert len({each.name for each in found}) == 3


def test_two_kinds_of_pods_under_one_name_are_a_problem() -> None:
    [problem] = read_pod_sets([member("x"), member("x", GPU)], {}).problems
    assert problem.startswith(
        "the pods of the group that label quotree.dev/pod-set calls 'x' differ in what they request"
    )


@pytest.mark.parametrize(("kinds", "problems"), [(8, 0), (9, 1), (100, 1)])
def test_a_group_has_at_most_eight_kinds_of_pods(kinds: int, problems: int) -> None:
    found = read_pod_sets([member(request={"cpu": number}) for number in range(1, kinds + 1)], {})
    assert len(found.problems) == problems
    assert f"are of {kinds} different kinds; at most 8" in "".join(found.problems) or not problems


def test_started_pods_belong_to_the_pod_sets_of_their_start() -> None:
    head, gated = member("head", zone="of its flavor"), member(request=GPU)
    found = read_pod_sets([head, gated, member("unknown")], {"head": {"cpu": "a"}, gated.pod_set: {"gpu": "b"}}).found
    assert [(each.name, each.request) for each in found] == [("head", {"cpu": 2000}), (gated.pod_set, GPU)]


def test_pods_started_as_one_pod_set_stay_one() -> None:
    [found] = read_pod_sets([member(), member(request=GPU), member("x")], {"main": {"cpu": "a"}}).found
    assert (found.name, found.request) == ("main", {"cpu": 3000, "gpu": 2})


def pod(name: str, cpu: str, *, gated: bool = True, **metadata: Any) -> Pod:
    labels = {"quotree.dev/group": "a", "quotree.dev/pod-group": "ring", "quotree.dev/pod-group-size": "2"}
    labels |= metadata.pop("labels", {})
    spec: dict[str, Any] = {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    if gated:
        spec["schedulingGates"] = [{"name": "quotree.dev/admission"}]
    return read_pod({"metadata": {"name": name, "uid": name, "labels": labels, **metadata}, "spec": spec})


def read(*pods: Pod) -> Reading:
    return workload_of_pod_group(pods, NamespaceContext(), QuotaSettings())


def test_pod_group_of_different_pods_has_several_pod_sets() -> None:
    found = read(pod("a", "1"), pod("b", "2"))
    assert found.workload is not None
    assert (found.problems, found.workload.hold, found.workload.request) == ((), False, {"cpu": 3000})
    assert [each.request for each in found.workload.pod_sets] == [{"cpu": 1000}, {"cpu": 2000}]


def test_pod_group_with_different_pods_under_one_set_name_waits() -> None:
    one = {"quotree.dev/pod-set": "x"}
    found = read(pod("a", "1", labels=one), pod("b", "2", labels=one))
    assert found.workload is not None
    assert (found.workload.hold, len(found.problems)) == (True, 1)


def test_half_started_pod_group_names_waiting_pod_sets_like_its_start() -> None:
    waiting = read(pod("a", "1"), pod("b", "2")).workload
    assert waiting is not None
    first, second = (each.name for each in waiting.pod_sets)
    note = AdmissionAnnotation(pod_sets={first: {"cpu": "x"}, second: {"cpu": "y"}}, time=NOW)
    written = {
        "labels": {"quotree.dev/pod-set": first},
        "annotations": {"quotree.dev/admission": write_annotation(note)},
    }
    found = read(pod("a", "1", gated=False, **written), pod("b", "2"))
    assert found.workload is not None
    assert found.state is ObjectState.RUNNING
    assert found.workload.admission is not None
    assert found.workload.admission.flavors == {first: {"cpu": "x"}, second: {"cpu": "y"}}
    assert [each.name for each in found.workload.pod_sets] == [first, second]
