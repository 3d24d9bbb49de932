"""What waits below a group directly above leaves, and what the group itself leaves to it."""

import pytest

from shared.quota.decide.state.leaves_in_order import margins_of
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, pending, running
from tests.shared.quota.decide.plan_words import given
from tests.trees import KEY


@pytest.mark.parametrize(
    ("used", "expected"), [(3, (3, 1)), (4, (2, 0)), (5, (1, 0))], ids=["below", "at its guarantee", "above"]
)
def test_margins_are_up_to_the_ceiling_and_what_the_guarantee_keeps(used: int, expected: tuple[int, int]) -> None:
    snapshot = measure(given("root 9\n  a 4..6 keep\n  b 5", [running("a", used, "r"), pending("a", 9, "w")]), NOW)
    assert margins_of(snapshot.numbers["a"])[KEY] == expected
