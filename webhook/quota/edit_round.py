"""One round of ordered edits, judged one after another against what is stored and what may come to be."""

from collections.abc import Sequence
from datetime import datetime

from shared.quota.model.rules import Context, Violation
from webhook.quota.consistent_read import StoredState
from webhook.quota.flavors import KIND as FLAVOR
from webhook.quota.flavors import FlavorEdit, judge_flavor_among
from webhook.quota.possible_trees import PendingEdit, PendingEdits
from webhook.quota.quotagroups import KIND as GROUP
from webhook.quota.quotagroups import UNDER_WAY, EditOutcome, GroupEdit, judge_among
from webhook.quota.reservations import Reservation, reserve_group, reserved_group

Ordered = GroupEdit | FlavorEdit


class EditRound:
    """One round: what is stored and what may come to be, growing with each edit that is accepted."""

    def __init__(self, stored: StoredState, still: Sequence[Reservation]) -> None:
        self._stored = stored
        self._pending = PendingEdits(stored.tree, (PendingEdit(name, None, creates=False) for name in stored.leaving))
        self._leaving: frozenset[str] = frozenset()
        self.reservations: tuple[Reservation, ...] = ()
        for each in still:
            self.remember(each)

    def remember(self, reservation: Reservation) -> None:
        """An accepted edit that might not be stored yet."""
        self.reservations = (*self.reservations, reservation)
        if reservation.kind == FLAVOR:
            self._leaving |= {reservation.name}
            return
        creates = not reservation.base and reservation.name not in self._stored.tree
        self._pending = self._pending.and_also(PendingEdit(reservation.name, reserved_group(reservation), creates))

    def judge(self, edit: Ordered, context: Context) -> EditOutcome:
        """The edit beside all that."""
        if isinstance(edit, FlavorEdit):
            return judge_flavor_among(edit, self._pending, context)
        return judge_among(edit, self._pending, self._leaving, context)


def reserve(edit: Ordered, at: datetime) -> Reservation:
    """The edit as it goes into the recorded."""
    if isinstance(edit, FlavorEdit):
        return Reservation(edit.id, FLAVOR, edit.name, edit.uid, at, edit.base)
    group = None if edit.new is None else reserve_group(edit.new)
    return Reservation(edit.id, GROUP, edit.name, edit.uid, at, edit.base, group)


def write_unsettled(
    edit: Ordered, outcome: EditOutcome, reservations: Sequence[Reservation], seconds: int
) -> Violation:
    """What a user is told whose edit still depends on others; all is resolved after `seconds` at the latest."""
    first = outcome.findings.violations[0]
    others = ", ".join(str(each) for each in reservations[:3]) or "another edit"
    message = f"{first.message}; that depends on an edit under way ({others}): try again, at the latest in {seconds} s"
    kind = FLAVOR if isinstance(edit, FlavorEdit) else GROUP
    return Violation(UNDER_WAY, f"{kind}/{edit.name}", first.field, message)
