"""Whether one pod fits a node, all its resources together, and until when use on a node counts."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.quota.model.node import ClusterNode, largest_of, node_shortage, one_of
from shared.quota.model.tree import Amounts

LACKS = "one pod requests {}; the largest ready node has {}"
BIG, WIDE = {"cpu": 64000, "gpu": 4}, {"cpu": 8000, "gpu": 8}


@pytest.mark.parametrize(
    ("pod", "offers", "text"),
    [
        ({"cpu": 64000, "gpu": 4}, (BIG, WIDE), None),
        ({"cpu": 1000}, (BIG,), None),
        ({}, (), None),
        ({"gpu": 99}, None, None),
        ({"cpu": 16000, "gpu": 8}, (BIG,), LACKS.format("cpu 16, gpu 8", "cpu 64, gpu 4")),
        ({"cpu": 9000, "gpu": 5}, (BIG, WIDE), LACKS.format("cpu 9, gpu 5", "cpu 64, gpu 4")),
        ({"cpu": 65000, "gpu": 5}, (BIG, WIDE), LACKS.format("cpu 65, gpu 5", "cpu 8, gpu 8")),
        ({"cpu": 1000, "tpu": 1}, (BIG,), LACKS.format("cpu 1, tpu 1", "cpu 64, tpu 0")),
        ({"gpu": 1}, (), "one pod requests gpu 1, and no node of it is ready"),
    ],
    ids=[
        "exactly one of them",
        "less than all",
        "requests nothing",
        "nodes are not compared",
        "too much of one resource",
        "each of some node, both of none",
        "the node that lacks least",
        "a resource that no node has",
        "no ready node",
    ],
)  # fmt: skip
def test_pod_must_fit_one_node_with_all_its_resources(
    pod: Amounts, offers: tuple[Amounts, ...] | None, text: str | None
) -> None:
    found = node_shortage(pod, offers)
    assert (None if found is None else str(found)) == text


def test_request_of_one_pod_is_rounded_up() -> None:
    assert one_of({"cpu": 7, "gpu": 0, "memory": 4}, 2, ("memory", "cpu", "gpu", "tpu")) == {"cpu": 4, "memory": 2}


def test_only_the_largest_node_shapes_are_kept() -> None:
    assert largest_of([{"cpu": 8000}, BIG, {"cpu": 64000, "gpu": 2}, WIDE, dict(BIG), {}]) == (BIG, WIDE)
    assert largest_of([]) == ()


def test_use_on_a_node_that_is_not_ready_counts_until_its_grace_period_has_ended() -> None:
    since, second = datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=1)
    gone = ClusterNode("gone", takes_pods=False, not_ready_since=since)
    times = (since, since + 59 * second, since + 60 * second)
    assert [gone.counts_use(each, 60 * second) for each in times] == [True, True, False]
    cordoned = ClusterNode("cordoned", takes_pods=False)
    assert cordoned.counts_use(since + 60 * second, 60 * second)
