"""When the answers that a leaf has computed may be used again."""

from dataclasses import replace

from shared.quota.measure.static.flavor_eligibility import FlavorEligibility, FlavorOffer
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import Uncovered
from tests.trees import group

OFFER = FlavorOffer({"default": Flavor("default")}, Uncovered.DENY)


def test_answers_are_those_of_one_group_one_offer_and_one_set_of_bounds() -> None:
    leaf = group("a 4")
    known = FlavorEligibility(leaf, OFFER, {})
    assert known.answers(leaf, OFFER, {})
    assert not known.answers(replace(leaf, quotas=()), OFFER, {})
    assert not known.answers(leaf, replace(OFFER, flavors={}), {})
