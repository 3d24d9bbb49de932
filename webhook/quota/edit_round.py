"""One round of serialised edits, judged one after another against what is stored and what might be stored. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from shared.quota.model.rules import Context, Findings, Violation
from webhook.quota.edits import FLAVOR, GROUP, FlavorEdit, QuotaEdit, number
from webhook.quota.flavors import judge_flavor_among
from webhook.quota.possible_trees import PendingEdit, PendingEdits
from webhook.quota.quotagroups import UNDER_WAY, EditOutcome, judge_over_time
from webhook.quota.stored.consistent_read import StoredState
from webhook.quota.stored.reservations import MAX_RECORDED, Reservation, reserve_group, reserved_group, size_of

UNCONFIRMED: Final = "EditUnconfirmed"
"""The code of a denial because the state that the edit starts from was not read from the API server."""
NEVER: Final = datetime.min.replace(tzinfo=UTC)


class EditRound:
    """What is stored and what might be stored; grows with each accepted edit."""

    def __init__(self, stored: StoredState, still: Sequence[Reservation]) -> None:
        self._stored = stored
        self._pending = PendingEdits(stored.tree, (PendingEdit(name, None, creates=False) for name in stored.leaving))
        self._leaving: frozenset[str] = frozenset()
        self.reservations: tuple[Reservation, ...] = ()
        self._size = 0
        for each in still:
            self.remember(each)

    def remember(self, reservation: Reservation) -> None:
        """Count an accepted edit that might not be stored yet."""
        self.reservations = (*self.reservations, reservation)
        self._size += size_of([reservation])
        if reservation.kind == FLAVOR:
            self._leaving |= {reservation.name}
            return
        creates = not reservation.base and reservation.name not in self._stored.tree
        self._pending = self._pending.and_also(PendingEdit(reservation.name, reserved_group(reservation), creates))

    def judge(self, edit: QuotaEdit, context: Context) -> EditOutcome:
        """Judge the edit together with the stored state and all pending edits."""
        unconfirmed = self._check_confirmed(edit)
        if unconfirmed is not None:
            return EditOutcome(Findings((unconfirmed,)))
        outcome = self._judge(edit, context)
        if outcome.is_legal and not edit.dry_run and self._size + size_of([reserve(edit, NEVER)]) > MAX_RECORDED:
            message = "too many large edits are under way"
            return EditOutcome(
                Findings((Violation(UNDER_WAY, f"{edit.kind}/{edit.name}", "", message),)), unsettled=True
            )
        return outcome

    def _judge(self, edit: QuotaEdit, context: Context) -> EditOutcome:
        if isinstance(edit, FlavorEdit):
            return judge_flavor_among(edit, self._pending, context)
        return judge_over_time(edit, self._pending, self._leaving, context)

    def _check_confirmed(self, edit: QuotaEdit) -> Violation | None:
        """Deny an edit of a state that was not read; the API server would not have sent it."""
        if not edit.base:
            return None
        seen = self._stored.version(edit.kind, edit.name)
        if seen is None and self._stored.revision >= number(edit.base):
            message = "is not stored; read it again and repeat the edit"
        elif seen is not None and seen.uid != edit.uid:
            message = "was deleted and created again; read it again and repeat the edit"
        elif self._stored.revision < number(edit.base):
            message = "the state that the edit starts from is not known to the API server; repeat the edit"
        else:
            return None
        return Violation(UNCONFIRMED, f"{edit.kind}/{edit.name}", "metadata.resourceVersion", message)


def reserve(edit: QuotaEdit, at: datetime) -> Reservation:
    """Return the reservation of an accepted edit."""
    if isinstance(edit, FlavorEdit):
        return Reservation(edit.id, FLAVOR, edit.name, edit.uid, at, edit.base)
    group = None if edit.new is None else reserve_group(edit.new)
    return Reservation(edit.id, GROUP, edit.name, edit.uid, at, edit.base, group)


def write_unsettled(
    edit: QuotaEdit, outcome: EditOutcome, reservations: Sequence[Reservation], seconds: int
) -> Violation:
    """Return the denial of an edit that depends on pending edits, whose outcome is known in `seconds` at the latest."""
    first = outcome.findings.violations[0]
    others = ", ".join(str(each) for each in reservations[:3]) or "another edit"
    message = f"{first.message}; that depends on an edit under way ({others}): try again, at the latest in {seconds} s"
    kind = FLAVOR if isinstance(edit, FlavorEdit) else GROUP
    return Violation(UNDER_WAY, f"{kind}/{edit.name}", first.field, message)
