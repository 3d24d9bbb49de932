"""How long owners whose pods were never seen, or not all of them, count as in use, and ended ones account for pods."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from shared.cluster.state.cluster_state import ClusterState

T = TypeVar("T")
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
        self._limit(work.overlay.revoked_starts.delays.new, _ANSWER_LIMIT, work.decided.stop_waiting_for_answer)
        self._limit(work.overlay.early_stops.delays.new, _PODS_SEEN_LIMIT, work.decided.stop_waiting_for_more_pods)
        self._limit(work.owners.unseen_pods, _PODS_SEEN_LIMIT, self._state.objects.stop_waiting_for_pods)
        self._limit(work.owners.strays.new, _PODS_SEEN_LIMIT, self._state.objects.stop_waiting_for_strays)

    def _limit(self, waiting: list[T] | set[T], limit: timedelta, give_up: Callable[[T], None]) -> None:
        def time_is_up(each: T) -> None:
            give_up(each)
            self._wake()

        for each in waiting:
            asyncio.get_running_loop().call_later(limit.total_seconds(), time_is_up, each)
        waiting.clear()
