"""Whether one cycle did only what the rules allow; the answer to every plan that the engine makes."""

from collections import deque
from collections.abc import Iterator

from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot
from tests.shared.quota.judging.evictions import judge_evictions
from tests.shared.quota.judging.judgement import Judgement
from tests.shared.quota.judging.starts import judge_starts
from tests.shared.quota.judging.waits import judge_waits


def transgressions(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """Everything in the plan that the rules do not allow, one line each."""
    judgement = Judgement(snapshot, plan)
    yield from judge_starts(judgement)
    yield from judge_evictions(judgement)


def missed_starts(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """What waits although it could start, one line each. One cycle can leave it to the next, but not two in a row."""
    judgement = Judgement(snapshot, plan)
    deque(judge_starts(judgement), maxlen=0)
    deque(judge_evictions(judgement), maxlen=0)
    yield from judge_waits(judgement)
