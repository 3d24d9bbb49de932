"""What is said of a turn: since when, until when it rests, or why there is none. docs/specification.md §6.11."""

from shared.quota.decide.turns.turn_order import NoTurn, TurnRefusal, why_no_turn
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.turns.heads import heads_of
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import write_quantity


class TurnSentences:
    """What is said of the heads of one snapshot's queues; each leaf is looked at once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._heads: dict[str, frozenset[WorkloadId]] = {}

    def of(self, workload: Workload) -> str:
        """Return the sentence about a pending workload; empty for one that is no head, or needs no turn."""
        holder = self._snapshot.turns.holders.get(workload.id)
        if holder is not None:
            return f"its turn began at {holder.turn.since.isoformat(timespec='seconds')}"
        rests_until = self._snapshot.turns.resting.get(workload.id)
        if rests_until is not None:
            return f"its turn rests until {rests_until.isoformat(timespec='seconds')}"
        if workload.id not in self._heads_of(workload.group):
            return ""
        refusal = why_no_turn(self._snapshot, workload)
        # What a ceiling leaves is said already, as what the workload lacks.
        if refusal is None or refusal.because is TurnRefusal.CEILING:
            return ""
        return sentence_of(refusal)

    def _heads_of(self, group: str) -> frozenset[WorkloadId]:
        found = self._heads.get(group)
        if found is None:
            leaf = self._snapshot.leaves.get(group)
            heads = () if leaf is None else heads_of(leaf)
            found = self._heads[group] = frozenset(each.id for each in heads)
        return found


def sentence_of(refusal: NoTurn) -> str:
    """Return why a workload has no turn, if no ceiling is the cause."""
    group, resource = refusal.group, "" if refusal.key is None else refusal.key.resource
    left, requested = write_quantity(resource, refusal.left), write_quantity(resource, refusal.requested)
    until = "" if refusal.until is None else refusal.until.isoformat(timespec="seconds")
    return {
        TurnRefusal.MINS: f"has no turn: the mins leave {left}, it requests {requested}",
        TurnRefusal.TAKEN: f"has no turn yet: a workload of group {group!r} has one",
        TurnRefusal.USED_LESS: f"has no turn yet: group {group!r} has used less in proportion to its weight",
        TurnRefusal.WEIGHTLESS: f"has no turn: group {group!r} has weight 0",
        TurnRefusal.PATIENCE: f"could have a turn at {until}, when its patience is over",
    }[refusal.because]
