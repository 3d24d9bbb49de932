"""KnownSiblings tells which child of a parent is first, and whose large head could be next, by their numbers alone.

docs/specification.md §6.11.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from shared.quota.decide.known_siblings import Children, KnownSiblings
from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.turns.heads import LargeHead, Way
from tests.builders import pending
from tests.trees import GPU, KEY

FIRST = Numbers(weight=1, used=2, demand=6, runtime=2, ceiling=8)
"""Wants more than it gets, and uses something."""


@dataclass
class Leaf:
    """A leaf that has these heads."""

    large_heads: Sequence[LargeHead]


def siblings(*children: tuple[str, Numbers, int]) -> KnownSiblings:
    """Return what is known of children, given as (name, numbers, past use); b has a head that requests 4 GPUs."""
    head = LargeHead(pending("b", 4, "job"), (Way({"main": {GPU: KEY.flavor}}, ((KEY, 4),)),), None)
    names, numbers, past = zip(*children, strict=True)
    return KnownSiblings(
        Children(
            names,
            [{KEY: each} for each in numbers],
            [{KEY: each} for each in past],
            [Leaf([head]) if name == "b" else None for name in names],
        )
    )


def leads(known: KnownSiblings) -> bool:
    """Return whether b's head could be next."""
    return bool(known.heads)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(FIRST, False, id="wants more than it gets"),
        pytest.param(Numbers(weight=1, used=2, demand=2, runtime=2, ceiling=8), True, id="gets all that it wants"),
        pytest.param(Numbers(weight=1, demand=6, runtime=2, ceiling=8), True, id="uses nothing"),
        pytest.param(Numbers(used=2, demand=6, runtime=2, ceiling=8), True, id="has weight 0"),
    ],
)
def test_only_a_sibling_that_uses_some_and_wants_more_comes_before_a_head(other: Numbers, expected: bool) -> None:
    own = Numbers(weight=1, used=1, demand=5, runtime=2, ceiling=8)
    assert leads(siblings(("a", other, 0), ("b", own, 9))) is expected


def test_head_of_the_child_that_is_first_itself_leads() -> None:
    assert leads(siblings(("a", FIRST, 9), ("b", FIRST, 1)))


@pytest.mark.parametrize(
    ("kept", "expected"),
    [pytest.param(2, True, id="within its runtime"), pytest.param(3, False, id="beyond its runtime")],
)
def test_head_needs_no_place_for_what_its_runtime_covers(kept: int, expected: bool) -> None:
    """The leaf b has a runtime of 6, and needs the head's 4 and `kept`, what it uses that is not preemptible."""
    own = Numbers(weight=1, used=3, demand=9, runtime=6, ceiling=9, non_preemptible=kept)
    assert leads(siblings(("a", FIRST, 0), ("b", own, 9))) is expected


@pytest.mark.parametrize(
    ("kept", "expected"),
    [pytest.param(4, True, id="up to the ceiling"), pytest.param(5, False, id="above it")],
)
def test_head_that_needs_more_than_the_ceiling_leads_nothing(kept: int, expected: bool) -> None:
    own = Numbers(weight=1, used=5, demand=8, runtime=2, ceiling=8, non_preemptible=kept)
    assert leads(siblings(("b", own, 0))) is expected


def test_weights_of_those_that_want_something_add_up() -> None:
    idle = Numbers(weight=8)
    assert siblings(("a", FIRST, 0), ("b", FIRST, 0), ("c", idle, 0)).wanting(KEY) == 2
