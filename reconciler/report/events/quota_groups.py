"""Events on QuotaGroups: they became inactive or active again, their times began or ended, their budgets are used.

See docs/specification.md §9.3.
"""

from shared.api.names import API_VERSION
from shared.kube.events.note import EventType, Regarding
from shared.kube.events.recorder import EventRecorder
from shared.quota.measure.accounts.budgets.book import PassedPart
from shared.quota.measure.accounts.periods import moment_at
from shared.quota.model.budgets.in_force import budget_text
from shared.quota.model.lifecycle import Inactive


class QuotaGroupEvents:
    """Records events; no method waits or fails."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def inactive(self, name: str, uid: str, why: Inactive) -> None:
        """The group became inactive: nothing new starts in it."""
        about = _regarding(name, uid)
        self._recorder.record(about, EventType.WARNING, reason=why.reason, action="Check", note=why.message)

    def active_again(self, name: str, uid: str) -> None:
        """The group was fixed."""
        about = _regarding(name, uid)
        self._recorder.record(about, EventType.NORMAL, reason="Active", action="Check", note="workloads start again")

    def amended(self, name: str, uid: str, text: str) -> None:
        """Overrides or windows of the group began or ended. `text`: what is in force now; empty: nothing."""
        reason, note = ("Amended", f"in force: {text}") if text else ("AsWritten", "the group is as it is written")
        self._recorder.record(_regarding(name, uid), EventType.NORMAL, reason=reason, action="Amend", note=note)

    def budget_used(self, uid: str, part: PassedPart) -> None:
        """So many percent of a group's budget are used."""
        at = moment_at(part.at).isoformat(timespec="milliseconds")
        text = f"{part.percent} % of its budget of {budget_text(part.budget)} were used at {at}"
        reason = "BudgetSpent" if part.percent == 100 else "BudgetNearlySpent"
        note = f"{text}; whenSpent is {part.budget.when_spent.value}"
        about = _regarding(part.group, uid)
        self._recorder.record(about, EventType.WARNING, reason=reason, action="Account", note=note)


def _regarding(name: str, uid: str) -> Regarding:
    return Regarding(api_version=API_VERSION, kind="QuotaGroup", name=name, uid=uid)
