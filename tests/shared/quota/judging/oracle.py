"""Whether one cycle did only what the rules allow; the answer to every plan that the engine makes."""

from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot
from tests.shared.quota.judging.evictions import judge_evictions
from tests.shared.quota.judging.judgement import Judgement
from tests.shared.quota.judging.starts import judge_starts
from tests.shared.quota.judging.waits import judge_waits


def judged(snapshot: Snapshot, plan: Plan) -> tuple[list[str], list[str]]:
    """Read the plan once: what in it the rules do not allow, and what waits although it could start; a line each.

    One cycle can leave a start to the next, but not two in a row.
    """
    judgement = Judgement(snapshot, plan)
    wrong = [*judge_starts(judgement), *judge_evictions(judgement)]
    return wrong, list(judge_waits(judgement))


def transgressions(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Everything in the plan that the rules do not allow."""
    return judged(snapshot, plan)[0]


def missed_starts(snapshot: Snapshot, plan: Plan) -> list[str]:
    """What waits although it could start."""
    return judged(snapshot, plan)[1]
