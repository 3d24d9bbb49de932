"""What is remembered of accepted edits, and for how long."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shared.kube.errors import ApiError
from shared.quota.model.tree import Tree
from tests.trees import group
from webhook.quota.consistent_read import StoredState
from webhook.quota.quotagroups import GroupEdit
from webhook.quota.reservation_age import ReservationAges
from webhook.quota.reservations import (
    Reservation,
    Reservations,
    StoredVersion,
    is_open,
    read_reservations,
    reserve_group,
    reserved_group,
)
from webhook.quota.settlement import resolve, without_superseded

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
CREATION = Reservation("1", "QuotaGroup", "a", "uid-a", AT, group=reserve_group(group("a 1..2 ^p")))
CHANGE = Reservation("2", "QuotaGroup", "a", "uid-a", AT, "7", reserve_group(group("a/ 1 ^q")))
DELETION = Reservation("3", "QuotaGroup", "a", "uid-a", AT, "7")


@pytest.mark.parametrize(
    ("reservation", "stored", "revision", "expected"),
    [
        (CREATION, None, 9, True),
        (CREATION, StoredVersion("uid-a", "1"), 9, False),
        (CREATION, StoredVersion("another", "1"), 9, True),
        (CHANGE, StoredVersion("uid-a", "7"), 9, True),
        (CHANGE, StoredVersion("uid-a", "5"), 6, True),
        (CHANGE, StoredVersion("uid-a", "8"), 9, False),
        (CHANGE, None, 9, False),
        (CHANGE, None, 6, True),
        (DELETION, StoredVersion("uid-a", "7"), 9, True),
        (DELETION, StoredVersion("uid-a", "8"), 9, False),
        (DELETION, None, 9, False),
        (DELETION, None, 6, True),
    ],
)
def test_an_edit_is_open_while_its_object_is_as_it_was_or_older(
    reservation: Reservation, stored: StoredVersion | None, revision: int, expected: bool
) -> None:
    assert is_open(reservation, stored, revision) is expected


def known(revision: int, *, newest: bool, **versions: str) -> StoredState:
    found = {("QuotaGroup", name): StoredVersion(f"uid-{name}", version) for name, version in versions.items()}
    return StoredState(Tree.of(()), found, (), revision, is_newest=newest)


def resolved(stored: StoredState, *, over: bool) -> tuple[list[str], list[str], int]:
    found = resolve(Reservations("1", (CREATION, CHANGE), 3), stored, lambda _: over)
    return [each.id for each in found.still], [each.id for each in found.kept], found.floor


@pytest.mark.parametrize(
    ("stored", "over", "expected"),
    [
        (known(6, newest=False), False, (["1", "2"], [], 3)),
        (known(6, newest=False), True, (["1", "2"], [], 3)),
        (known(7, newest=False, a="7"), False, (["2"], [], 7)),
        (known(9, newest=False, a="8"), False, ([], [], 8)),
        (known(9, newest=False), False, (["1"], [], 9)),
        (known(9, newest=True), False, (["1"], ["2"], 3)),
        (known(9, newest=True), True, ([], [], 9)),
        (known(9, newest=True, a="7"), True, ([], [], 7)),
    ],
    ids=[
        "a watch that lags",
        "a watch that lags ends nothing by age",
        "the creation was seen",
        "the change was seen",
        "the deletion was seen",
        "gone, but since when",
        "gone, and long ago",
        "never stored, and too late for it",
    ],
)
def test_an_edit_is_forgotten_once_it_is_known_what_became_of_it(
    stored: StoredState, over: bool, expected: tuple[list[str], list[str], int]
) -> None:
    assert resolved(stored, over=over) == expected


def test_an_edit_shows_what_became_of_those_before_it() -> None:
    before = resolve(Reservations("1", (CREATION, CHANGE), 3), known(6, newest=False), lambda _: False)
    later = GroupEdit("4", "a", "uid-a", "8", group("a"), group("a 1"))
    found = without_superseded(before, [later])
    assert (found.still, found.floor) == ((), 8)
    assert without_superseded(before, [GroupEdit("4", "b", "uid-b", "8", group("b"), None)]) == before
    same = GroupEdit("4", "a", "uid-a", "7", group("a"), None)
    assert [each.id for each in without_superseded(before, [same]).still] == ["2"]


def test_the_ledger_is_read_as_it_was_written() -> None:
    written = msgspec.json.encode((CREATION, CHANGE, DELETION)).decode()
    raw = msgspec.json.encode({"metadata": {"resourceVersion": "5"}, "data": {"reservations": written, "floor": "4"}})
    recorded = read_reservations(raw)
    assert recorded == Reservations("5", (CREATION, CHANGE, DELETION), 4)
    assert [str(each) for each in recorded.reservations] == [
        "creation of QuotaGroup a",
        "change of QuotaGroup a",
        "deletion of QuotaGroup a",
    ]
    assert read_reservations(b'{"metadata": {"resourceVersion": "6"}}') == Reservations("6")


def test_a_ledger_that_somebody_wrote_into_is_refused_with_a_sentence() -> None:
    with pytest.raises(ApiError, match="ConfigMap quotree-edits is not as Quotree wrote it"):
        read_reservations(b'{"metadata": {}, "data": {"reservations": "[{}]"}}')


def test_a_group_comes_out_of_the_ledger_as_far_as_rules_about_trees_look() -> None:
    drawn = group("a/ a100:gpu 1..2 w3 | t4:cpu 4 ^p")
    out = reserved_group(Reservation("1", "QuotaGroup", "a", "uid-a", AT, group=reserve_group(drawn)))
    assert out is not None
    assert (out.name, out.parent, out.is_parent) == ("a", "p", True)
    assert [(each.flavor, each.min, each.covered) for each in out.quotas] == [
        (each.flavor, each.min, each.covered) for each in drawn.quotas
    ]


def test_an_edit_counts_from_when_it_was_first_seen_whatever_the_clocks_say() -> None:
    ages = ReservationAges(timedelta(seconds=65))
    ahead = AT - timedelta(minutes=4)
    ages.see([CREATION], now=100.0)
    ages.see([CREATION], now=130.0)
    assert ages.left(CREATION, 130.0, ahead) == timedelta(seconds=35)
    assert ages.left(CREATION, 165.0, ahead) == timedelta()


def test_an_edit_from_long_ago_is_over_at_first_sight() -> None:
    ages = ReservationAges(timedelta(seconds=65))
    long_after = AT + timedelta(minutes=6, seconds=6)
    assert ages.left(CREATION, 0.0, long_after) == timedelta()
    assert ages.left(CREATION, 0.0, long_after - timedelta(seconds=2)) == timedelta(seconds=65)
