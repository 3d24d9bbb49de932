"""How long owners whose pods were never seen, or not all of them, count as in use."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from reconciler.state.cluster_state import ClusterState

_ANSWER_LIMIT: Final = timedelta(seconds=30)
"""How long the Job controller may take to see a suspension and to delete the pods it had made."""
_PODS_SEEN_LIMIT: Final = timedelta(seconds=10)
"""How long the watch of pods may take to show the pods of a deleted Job, or those that were being made when the object
of a governed kind was stopped."""


class UnseenPodsLimits:
    """Sets a time limit for each such owner once; `wake` asks for another cycle when it has passed."""

    def __init__(self, state: ClusterState, wake: Callable[[], None]) -> None:
        self._state = state
        self._wake = wake

    def begin(self) -> None:
        """Begin the limits of those that are new.

        They were suspended before their start was answered, deleted before the watch of pods showed any, or stopped
        while their pods were being made.
        """
        work = self._state.work
        for keys, limit, give_up in (
            (work.revoked_starts.fresh, _ANSWER_LIMIT, work.stop_waiting_for_answer),
            (work.unseen_pods, _PODS_SEEN_LIMIT, self._state.stop_waiting_for_pods),
            (work.early_stops.fresh, _PODS_SEEN_LIMIT, work.stop_waiting_for_more_pods),
        ):
            for key in keys:
                asyncio.get_running_loop().call_later(limit.total_seconds(), self._give_up, give_up, key)
            keys.clear()

    def _give_up(self, waiting_for: Callable[[str], None], key: str) -> None:
        waiting_for(key)
        self._wake()
