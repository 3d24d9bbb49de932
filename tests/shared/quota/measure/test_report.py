"""The numbers as people see them: every word, by flavor and resource."""

from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.report import WORDS, report_of, words_of
from shared.resources import FlavorResource

NUMBERS = Numbers(
    min=8,
    effective_min=7,
    guarantee=2,
    ceiling=12,
    weight=3,
    request=10,
    used=9,
    non_preemptible=1,
    charge=9,
    demand=10,
    runtime=9,
)


def test_every_number_has_its_amount() -> None:
    assert words_of(NUMBERS) == {
        "min": 8,
        "effectiveMin": 7,
        "guarantee": 2,
        "ceiling": 12,
        "weight": 3,
        "request": 10,
        "used": 9,
        "nonPreemptible": 1,
        "charge": 9,
        "demand": 10,
        "runtime": 9,
        "borrowed": 1,
        "lendable": 0,
    }


def test_every_number_is_in_the_report() -> None:
    amounts = set(Numbers.__struct_fields__) - {"waiting_since", "limit", "idle_charge", "spared", "kept", "kept_below"}
    assert amounts <= set(WORDS.values())


def test_flavors_come_in_order_of_preference_and_resources_by_name() -> None:
    keys = [FlavorResource(*key.split("/")) for key in ("a/x", "b/y", "b/x", "c/x")]
    report = report_of(dict.fromkeys(keys, Numbers()), preference=("c", "b"))
    assert [(flavor, list(resources)) for flavor, resources in report.items()] == [
        ("c", ["x"]),
        ("b", ["x", "y"]),
        ("a", ["x"]),
    ]
