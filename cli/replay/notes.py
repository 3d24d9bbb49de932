"""What is to be known of a replay beside its rows: what was not read, what cannot start, what the log does not say."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from cli.replay.past import PastLog
from shared.quota.measure.inputs.world import World
from shared.text.times import age_text

_LISTED: Final = 5


def notes_of(past: PastLog, world: World, gathered: timedelta) -> list[str]:
    """Return sentences; `world`: as it is when the log begins, to which the edits in the log come."""
    for edit in past.edits:
        world = edit.change(world)
    notes = past.unread.lines()
    unknown = sum(each.run_time is None and each.left is None for each in past.workloads)
    if unknown:
        notes.append(f"workloads that did not end in the log: {unknown}; once started, they run to its end")
    idle = [*_idle_groups(past, world)]
    more = [f"and {len(idle) - _LISTED} groups more"] if len(idle) > _LISTED else []
    unsaid = _unsaid(past, gathered) if past.decisions is not None else ()
    return [*notes, *idle[:_LISTED], *more, *unsaid]


def _idle_groups(past: PastLog, world: World) -> Iterator[str]:
    """Yield why the workloads of a group cannot start."""
    for group, number in sorted(Counter(each.workload.group for each in past.workloads).items()):
        if group not in world.tree:
            why = "it is not in the tree"
        elif group in world.inactive:
            why = world.inactive[group].message
        elif world.tree[group].is_parent:
            why = "it holds groups, no workloads (isParent: true)"
        else:
            continue
        yield f"group {group} starts nothing, {number} of its workloads come: {why}"


def _unsaid(past: PastLog, gathered: timedelta) -> Iterator[str]:
    """Yield for what the log does not say everything, and what is assumed then."""
    if not past.decisions and gathered:
        yield f"the log does not say what decisions knew: changes within {age_text(gathered)} are decided on together"
    for what, reactions in (("evictions", past.stopping), ("starts", past.answering)):
        unseen = sum(each is None for times in reactions.known.values() for each in times)
        if unseen and reactions.usual:
            took = f"{reactions.usual.total_seconds():.3f} s, the median"
            yield f"{what} of which the log does not say how long their controller took: {unseen}; they take {took}"
