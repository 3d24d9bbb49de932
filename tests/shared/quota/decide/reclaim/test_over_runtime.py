"""When a leaf counts as over its runtime. docs/specification.md §7.1."""

import pytest

from tests.builders import NOW, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide
from tests.trees import KEY


@pytest.mark.parametrize(
    ("stays", "over"), [(4, {}), (5, {("a", KEY): NOW})], ids=["at its runtime", "above its runtime"]
)
def test_leaf_is_over_above_its_runtime_without_what_is_being_evicted(stays: int, over: dict[object, object]) -> None:
    work = [evicting(running("a", 1, "leaves")), running("a", stays, "stays"), pending("b", 8, "owner")]
    assert decide("root 8\n  a 4\n  b 4", work).over_since == over


def test_leaf_is_over_with_what_its_claims_will_take() -> None:
    preemptor = pending("b", 4, "preemptor")
    work = [evicting(running("a", 4, "leaves"), preemptor), running("a", 2, "stays"), running("b", 2, "b0"), preemptor]
    assert decide("root 8\n  a 4\n  b 4", work).over_since == {("b", KEY): NOW}
