"""What is remembered of accepted edits, and for how long."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shared.kube.errors import ApiError
from tests.trees import group
from webhook.ages import Ages
from webhook.ledger import Reservation, StoredVersion, is_open, read_ledger, reserve_group, reserved_group

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
CREATION = Reservation("1", "QuotaGroup", "a", "uid-a", AT, group=reserve_group(group("a 1..2 ^p")))
CHANGE = Reservation("2", "QuotaGroup", "a", "uid-a", AT, "7", reserve_group(group("a/ 1 ^q")))
DELETION = Reservation("3", "QuotaGroup", "a", "uid-a", AT, "7")


@pytest.mark.parametrize(
    ("reservation", "stored", "expected"),
    [
        (CREATION, None, True),
        (CREATION, StoredVersion("uid-a", "1"), False),
        (CREATION, StoredVersion("another", "1"), True),
        (CHANGE, StoredVersion("uid-a", "7"), True),
        (CHANGE, StoredVersion("uid-a", "8"), False),
        (CHANGE, None, False),
        (DELETION, StoredVersion("uid-a", "7"), True),
        (DELETION, StoredVersion("uid-a", "8"), False),
        (DELETION, None, False),
    ],
)
def test_an_edit_is_open_while_its_object_is_as_it_was(
    reservation: Reservation, stored: StoredVersion | None, expected: bool
) -> None:
    assert is_open(reservation, stored) is expected


def test_the_ledger_is_read_as_it_was_written() -> None:
    written = msgspec.json.encode((CREATION, CHANGE, DELETION)).decode()
    raw = msgspec.json.encode({"metadata": {"resourceVersion": "5"}, "data": {"reservations": written}})
    ledger = read_ledger(raw)
    assert (ledger.version, ledger.reservations) == ("5", (CREATION, CHANGE, DELETION))
    assert [str(each) for each in ledger.reservations] == [
        "creation of QuotaGroup a",
        "change of QuotaGroup a",
        "deletion of QuotaGroup a",
    ]
    assert read_ledger(b'{"metadata": {"resourceVersion": "6"}}').reservations == ()


def test_a_ledger_that_somebody_wrote_into_is_refused_with_a_sentence() -> None:
    with pytest.raises(ApiError, match="ConfigMap quotree-edits is not as Quotree wrote it"):
        read_ledger(b'{"metadata": {}, "data": {"reservations": "[{}]"}}')


def test_a_group_comes_out_of_the_ledger_as_far_as_rules_about_trees_look() -> None:
    drawn = group("a/ a100:gpu 1..2 w3 | t4:cpu 4 ^p")
    out = reserved_group(Reservation("1", "QuotaGroup", "a", "uid-a", AT, group=reserve_group(drawn)))
    assert out is not None
    assert (out.name, out.parent, out.is_parent) == ("a", "p", True)
    assert [(each.flavor, each.min, each.covered) for each in out.quotas] == [
        (each.flavor, each.min, each.covered) for each in drawn.quotas
    ]


def test_an_edit_counts_from_when_it_was_first_seen_whatever_the_clocks_say() -> None:
    ages = Ages(timedelta(seconds=65))
    ahead = AT - timedelta(minutes=4)
    ages.see([CREATION], now=100.0)
    ages.see([CREATION], now=130.0)
    assert ages.left(CREATION, 130.0, ahead) == timedelta(seconds=35)
    assert ages.left(CREATION, 165.0, ahead) == timedelta()


def test_an_edit_from_long_ago_is_over_at_first_sight() -> None:
    ages = Ages(timedelta(seconds=65))
    long_after = AT + timedelta(minutes=6, seconds=6)
    assert ages.left(CREATION, 0.0, long_after) == timedelta()
    assert ages.left(CREATION, 0.0, long_after - timedelta(seconds=2)) == timedelta(seconds=65)
