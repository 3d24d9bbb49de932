"""What is remembered of accepted edits, and for how long."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shared.kube.errors import ApiError
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules import Context
from shared.quota.model.tree import Entry, Group, Tree
from tests.trees import group
from webhook.quota.edit_round import EditRound, reserve
from webhook.quota.edits import GroupEdit
from webhook.quota.stored.consistent_read import StoredState
from webhook.quota.stored.reservation_age import ReservationAges
from webhook.quota.stored.reservations import (
    MAX_RECORDED,
    Reservation,
    Reservations,
    StoredVersion,
    is_open,
    read_reservations,
    reserve_group,
    reserved_group,
    size_of,
)
from webhook.quota.stored.settlement import resolve

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
def test_edit_is_open_while_its_object_has_the_previous_or_an_older_version(
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
def test_edit_is_removed_once_its_result_is_known(
    stored: StoredState, over: bool, expected: tuple[list[str], list[str], int]
) -> None:
    assert resolved(stored, over=over) == expected


def test_version_floor_above_every_stored_version_is_corrected_by_a_consistent_read() -> None:
    poisoned = Reservations("1", (), 9_000_000_000_000_000_000)
    assert resolve(poisoned, known(9, newest=False), lambda _: False).floor == 9_000_000_000_000_000_000
    assert resolve(poisoned, known(9, newest=True), lambda _: False).floor == 9


BASES = {
    "as stored": ("7", "uid-a", None),
    "older than stored": ("6", "uid-a", None),
    "beyond what was read": (
        "9000000000000000000",
        "uid-a",
        "the state that the edit starts from is not known to the API server; repeat the edit",
    ),
    "another object of that name": ("7", "uid-b", "was deleted and created again; read it again and repeat the edit"),
}


@pytest.mark.parametrize(("base", "uid", "text"), BASES.values(), ids=BASES)
def test_edit_of_an_unread_state_is_refused_and_keeps_reservations(base: str, uid: str, text: str | None) -> None:
    stored = StoredState(
        Tree.of([group("a")]), {("QuotaGroup", "a"): StoredVersion("uid-a", "7")}, (), 9, is_newest=True
    )
    round_ = EditRound(stored, [DELETION])
    found = round_.judge(GroupEdit("4", "a", uid, base, group("a"), group("a 1")), Context()).findings
    assert [each.message for each in found.violations] == ([] if text is None else [text])
    assert round_.reservations == (DELETION,)


def test_large_pending_edits_fit_in_the_coordination_object() -> None:
    entries = tuple(
        Entry(f"flavor-{at}", {f"example.com/resource-{each}": 2**62 for each in range(64)}) for at in range(64)
    )
    round_ = EditRound(StoredState(Tree.of(()), {}, (), 9, is_newest=True), ())
    outcomes = []
    for at in range(8):
        edit = GroupEdit(str(at), f"big-{at}", f"uid-{at}", "", None, Group(f"big-{at}", quotas=entries))
        outcome = round_.judge(edit, Context({each.flavor: Flavor(each.flavor) for each in entries}))
        outcomes.append(outcome.is_legal)
        if outcome.is_legal:
            round_.remember(reserve(edit, AT))
    assert outcomes[0]
    assert not outcomes[-1]
    assert outcome.unsettled
    assert size_of(round_.reservations) <= MAX_RECORDED


def test_reservations_are_read_back_as_written() -> None:
    written = msgspec.json.encode((CREATION, CHANGE, DELETION)).decode()
    raw = msgspec.json.encode({"metadata": {"resourceVersion": "5"}, "data": {"reservations": written, "floor": "4"}})
    recorded = read_reservations(raw)
    assert recorded == Reservations("5", (CREATION, CHANGE, DELETION), 4)
    assert [str(each) for each in recorded.reservations] == [
        "creation of QuotaGroup a",
        "change of QuotaGroup a",
        "deletion of QuotaGroup a",
    ]
    assert read_reservations(b'{"metadata": {"resourceVersion": "6"}}') == Reservations("6", floor=6)


def test_corrupted_reservations_are_refused_with_a_message() -> None:
    with pytest.raises(ApiError, match="ConfigMap quotree-edits is not as Quotree wrote it"):
        read_reservations(b'{"metadata": {"name": "quotree-edits"}, "data": {"reservations": "[{}]"}}')


def test_group_in_a_reservation_keeps_the_fields_used_by_tree_rules() -> None:
    drawn = group("a/ a100:gpu 1..2 w3 | t4:cpu 4 ^p")
    out = reserved_group(Reservation("1", "QuotaGroup", "a", "uid-a", AT, group=reserve_group(drawn)))
    assert out is not None
    assert (out.name, out.parent, out.is_parent) == ("a", "p", True)
    assert [(each.flavor, each.min, each.covered) for each in out.quotas] == [
        (each.flavor, each.min, each.covered) for each in drawn.quotas
    ]


def test_group_in_a_reservation_keeps_its_percents() -> None:
    drawn = group("a/ 40%..80% w3% ^p")
    out = reserved_group(Reservation("1", "QuotaGroup", "a", "uid-a", AT, group=reserve_group(drawn)))
    assert out is not None
    assert [each.percents for each in out.quotas] == [{"min": {"gpu": 40_000}, "max": {"gpu": 80_000}}]


def test_age_of_an_edit_counts_from_its_first_observation() -> None:
    ages = ReservationAges(timedelta(seconds=65))
    ahead = AT - timedelta(minutes=4)
    ages.see([CREATION], now=100.0)
    ages.see([CREATION], now=130.0)
    assert ages.left(CREATION, 130.0, ahead) == timedelta(seconds=35)
    assert ages.left(CREATION, 165.0, ahead) == timedelta()


def test_old_edit_is_expired_at_its_first_observation() -> None:
    ages = ReservationAges(timedelta(seconds=65))
    long_after = AT + timedelta(minutes=6, seconds=6)
    assert ages.left(CREATION, 0.0, long_after) == timedelta()
    assert ages.left(CREATION, 0.0, long_after - timedelta(seconds=2)) == timedelta(seconds=65)
