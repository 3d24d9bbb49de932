"""One record of each pod, where several watches select pods by their labels. Pure.

A pod whose labels change leaves one watch and appears in another, and the two report that in any order. It counts as
the first of the watches that has it reports it; when that watch drops it, as the next one does.
"""

from collections.abc import Iterator, Mapping, Sequence

from shared.cluster.state.observed.projections import PodRecord
from shared.kube.watch.cache import Change, Changed, transitions

Records = Mapping[str, PodRecord]
"""The records of one watch, by uid."""


def counted_once(
    changes: Sequence[Change[PodRecord]], preferred: Sequence[Records], others: Sequence[Records]
) -> Iterator[Changed[PodRecord]]:
    """Changes that one watch reports, as changes of the pods; `preferred`: the watches whose records count before its.

    Example: a pod leaves its pod group. Watch 0, of pods without a group, reports (None, x); watch 1, of groups, still
    has y: the change is (y, x). When watch 1 then reports (y, None), nothing changes.
    """
    for before, after in transitions(changes):
        shown = after or before
        if shown is None or any(shown.uid in each for each in preferred):
            continue
        elsewhere = next((each[shown.uid] for each in others if shown.uid in each), None)
        if elsewhere is None:
            yield Changed(before, after)
        else:
            yield Changed(before or elsewhere, after or elsewhere)
