"""When the answers that a leaf has computed may be used again."""

from dataclasses import replace

import pytest

from shared.quota.measure.static.flavor_eligibility import FlavorEligibility, FlavorOffer
from shared.quota.measure.static.potential_available import Bound
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import Uncovered
from shared.quota.model.workload import Workload
from tests.builders import pending
from tests.trees import KEY, group

LEAF = group("a 4")
OFFER = FlavorOffer({"default": Flavor("default")}, Uncovered.DENY)
SMALL, LARGE = pending("a", 3, "small"), pending("a", 6, "large")
FIXED = replace(SMALL, preemptible=False)


def of(*asked: Workload, room: int = 8, least: int = 4) -> FlavorEligibility:
    """What has been asked about these."""
    found = FlavorEligibility(LEAF, OFFER, {KEY: Bound(effective_min=least, room=room)})
    for each in asked:
        found.options(each)
    return found


def test_answers_are_those_of_one_group_one_offer_and_one_set_of_bounds() -> None:
    known, bounds = of(SMALL), {KEY: Bound(effective_min=4, room=8)}
    assert known.revised(LEAF, OFFER, bounds, 9) is known
    for other in (
        known.revised(replace(LEAF, quotas=()), OFFER, bounds, 9),
        known.revised(LEAF, replace(OFFER, flavors={}), bounds, 9),
        known.revised(LEAF, OFFER, {}, 9),
    ):
        assert other.alike is not known.alike


@pytest.mark.parametrize(
    ("asked", "bound", "holds"),
    [
        pytest.param(SMALL, Bound(effective_min=4, certain_min=1, room=8), True, id="what it does not read"),
        pytest.param(SMALL, Bound(effective_min=2, room=8), True, id="another min, nobody needs it"),
        pytest.param(FIXED, Bound(effective_min=2, room=8), False, id="another min, of which not preemptible work is"),
        pytest.param(FIXED, Bound(effective_min=4, room=9), True, id="the same min"),
        pytest.param(SMALL, Bound(effective_min=4, room=3), True, id="as much room as was ever requested"),
        pytest.param(SMALL, Bound(effective_min=4, room=2), False, id="less room than was requested"),
        pytest.param(LARGE, Bound(effective_min=4, room=5), False, id="less room than the larger one requests"),
    ],
)
def test_answers_are_taken_over_where_other_bounds_give_the_same(asked: Workload, bound: Bound, *, holds: bool) -> None:
    known = of(asked)
    revised = known.revised(LEAF, OFFER, {KEY: bound}, 9)
    assert (revised is known, revised.alike is known.alike) == (False, holds)
    assert (revised.options(asked) is known.options(asked)) is holds
    assert revised.options(asked) == of(asked, room=bound.room, least=bound.effective_min).options(asked)


def test_what_was_too_large_is_judged_again_by_more_room() -> None:
    known = of(LARGE, room=5)
    revised = known.revised(LEAF, OFFER, {KEY: Bound(effective_min=4, room=6)}, 9)
    assert (known.options(LARGE).could_fit, revised.options(LARGE).could_fit) == (False, True)


def test_new_questions_are_answered_by_the_new_bounds_and_end_the_likeness() -> None:
    known = of(SMALL)
    revised = known.revised(LEAF, OFFER, {KEY: Bound(effective_min=4, room=5)}, 9)
    assert revised.options(LARGE).could_fit is False
    assert known.options(LARGE).could_fit is True
    assert revised.alike is not known.alike


def test_answers_about_work_that_is_gone_are_forgotten() -> None:
    known, bounds = of(SMALL, LARGE), {KEY: Bound(effective_min=4, room=8)}
    assert known.revised(LEAF, OFFER, bounds, most=2) is known
    assert known.revised(LEAF, OFFER, bounds, most=1).alike is not known.alike
