"""What waits below a group is judged by what is available above it, as if its own limits had been asked."""

from datetime import datetime

import pytest

from shared.quota.decide.state.leaves_in_order import LeavesInOrder, margins_of, needs_above
from shared.quota.decide.state.usage import Keys, Usage, UsageLimits
from shared.quota.decide.state.usage_views import UsageViews
from shared.quota.measure.snapshot import measure
from shared.resources import Amount, FlavorResource
from tests.builders import NOW, pending, running
from tests.shared.quota.decide.plan_words import given

CPU, GPU = FlavorResource("default", "cpu"), FlavorResource("default", "gpu")


def _order(keys: Keys, *lowest: tuple[Amount, ...]) -> LeavesInOrder:
    oldest: dict[Keys, datetime] = {keys: NOW}
    return LeavesInOrder((), {}, {keys: lowest}, frozenset(), oldest, frozenset(), None)


@pytest.mark.parametrize(
    ("margins", "expected"),
    [
        ({CPU: (6, 0), GPU: (6, 0)}, ((2, 1), [(2, 4), (5, 1)])),
        ({CPU: (6, 3), GPU: (6, 1)}, ((-1, 0), [(-1, 3), (2, 0)])),
        ({CPU: (5, 0), GPU: (4, 0)}, ((2, 1), [(2, 4), (5, 1)])),
        ({CPU: (4, 0), GPU: (4, 0)}, ((2, 4), [(2, 4)])),
        ({CPU: (6, 0)}, None),
        ({CPU: (-1, 0), GPU: (6, 0)}, None),
    ],
    ids=["nothing kept", "kept", "up to the ceiling", "above the ceiling", "no numbers", "ceiling exceeded"],
)
def test_needs_above_a_group_are_less_by_what_it_keeps_and_end_at_its_ceiling(
    margins: dict[FlavorResource, tuple[Amount, Amount]],
    expected: tuple[tuple[Amount, ...], list[tuple[Amount, ...]]] | None,
) -> None:
    found = needs_above(_order((CPU, GPU), (2, 4), (5, 1)), margins)
    assert found.needs == ({} if expected is None else {(CPU, GPU): expected})


@pytest.mark.parametrize(
    ("used", "expected"), [(3, (3, 1)), (4, (2, 0)), (5, (1, 0))], ids=["below", "at its guarantee", "above"]
)
def test_margins_are_up_to_the_ceiling_and_what_the_guarantee_keeps(used: int, expected: tuple[int, int]) -> None:
    snapshot = measure(given("root 9\n  a 4..6 keep\n  b 5", [running("a", used, "r"), pending("a", 9, "w")]), NOW)
    key = next(iter(snapshot.numbers["root"]))
    assert margins_of(snapshot.numbers["a"])[key] == expected


def test_workload_without_requests_needs_nothing_above() -> None:
    assert needs_above(_order((), ()), {CPU: (6, 3)}).needs == {(): ((), [()])}


@pytest.mark.parametrize(("used", "expected"), [(3, (1,)), (4, (0,)), (5, None)])
def test_amounts_are_absent_where_a_limit_is_exceeded(used: int, expected: tuple[int, ...] | None) -> None:
    snapshot = measure(given("root 4\n  a 4", [running("a", used, "r")]), NOW)
    views = UsageViews((Usage(UsageLimits(snapshot.numbers)),))
    key = next(iter(snapshot.numbers["root"]))
    assert views.amounts(("root",), (key,)) == expected
    assert views.amounts(("root",), ()) == ()
