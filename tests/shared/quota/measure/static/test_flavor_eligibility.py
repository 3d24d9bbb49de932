"""When the answers that a leaf has computed may be used again."""

from dataclasses import replace

import pytest

from shared.api.core.placement import Placement
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
        known.revised(group("a 4 a100:gpu 1"), OFFER, bounds, 9),
        known.revised(LEAF, replace(OFFER, uncovered=Uncovered.IGNORE), bounds, 9),
        known.revised(LEAF, OFFER, {}, 9),
    ):
        assert other.alike is not known.alike


def test_answers_hold_with_other_numbers_of_the_group_that_the_bounds_allow() -> None:
    known, bounds = of(SMALL), {KEY: Bound(effective_min=4, room=8)}
    assert known.revised(group("a 2..9"), OFFER, bounds, 9) is known


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


def test_flavor_of_others_may_change_without_a_new_answer() -> None:
    known, bounds = of(SMALL), {KEY: Bound(effective_min=4, room=8)}
    offer = FlavorOffer({**OFFER.flavors, "other": Flavor("other")}, Uncovered.DENY)
    assert known.revised(LEAF, offer, bounds, 9) is known


@pytest.mark.parametrize(
    ("placement", "holds"),
    [
        pytest.param(Placement(), True, id="pods that may run anywhere"),
        pytest.param(Placement(node_selector={"zone": "a"}), True, id="pods that name the label as it is now"),
        pytest.param(Placement(node_selector={"zone": "b"}), False, id="pods that name another value of the label"),
    ],
)
def test_answers_are_taken_over_where_no_pod_minds_the_other_labels_of_a_flavor(
    placement: Placement, *, holds: bool
) -> None:
    asked = replace(SMALL, placement=placement)
    known, bounds = of(asked), {KEY: Bound(effective_min=4, room=8)}
    offer = FlavorOffer({"default": Flavor("default", {"zone": "a"})}, Uncovered.DENY)
    revised = known.revised(LEAF, offer, bounds, 9)
    assert (revised is known, revised.alike is known.alike) == (False, holds)
    new = FlavorEligibility(LEAF, offer, bounds)
    elsewhere = replace(SMALL, placement=Placement(node_selector={"zone": "c"}))
    assert [revised.options(each) for each in (asked, elsewhere)] == [new.options(each) for each in (asked, elsewhere)]


def test_other_labels_count_where_two_codependent_sets_must_agree() -> None:
    leaf = group("a default:cpu 4 | t4:gpu 4")
    flavors = {name: Flavor(name) for name in ("default", "t4")}
    known = FlavorEligibility(leaf, FlavorOffer(flavors, Uncovered.DENY), {})
    other = FlavorOffer({**flavors, "t4": Flavor("t4", {"zone": "a"})}, Uncovered.DENY)
    assert known.revised(leaf, other, {}, 9).alike is not known.alike
