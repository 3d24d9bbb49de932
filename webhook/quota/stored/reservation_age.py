"""How long an accepted edit can still be stored, by this process' own clock, from when it first saw the edit.

Clocks of other replicas are not compared. Only an edit older than the possible difference of clocks is expired at first
sight.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from webhook.quota.stored.reservations import Reservation

CLOCKS_APART: Final = timedelta(minutes=5)
"""The possible difference between the clocks of two replicas."""


class ReservationAges:
    """When each reservation was first seen. `life`: how long after that it counts."""

    def __init__(self, life: timedelta) -> None:
        self._life = life
        self._first: dict[str, float] = {}

    def see(self, reservations: Iterable[Reservation], now: float) -> None:
        """Record those first seen at `now` (seconds of a monotonic clock), and drop those that are gone."""
        self._first = {each.id: self._first.get(each.id, now) for each in reservations}

    def left(self, reservation: Reservation, now: float, today: datetime) -> timedelta:
        """Return how long the edit can still be stored; zero or less if it cannot."""
        if today - reservation.at > self._life + CLOCKS_APART:
            return timedelta()
        return self._life - timedelta(seconds=now - self._first.get(reservation.id, now))
