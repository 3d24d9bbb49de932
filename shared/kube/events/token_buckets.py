"""Limits of a rate by token buckets: one for all, or one for each object. Pure; times are seconds of one clock."""

from collections import OrderedDict

import msgspec


class TokenBucket(msgspec.Struct):
    """So many `tokens` are left since it was `filled`."""

    tokens: float
    filled: float

    def seconds_to_token(self, now: float, burst: float, per_second: float) -> float:
        """Refill, and return the seconds until a token is available; 0 if one is."""
        self.tokens = min(burst, self.tokens + (now - self.filled) * per_second)
        self.filled = now
        return max(0.0, (1 - self.tokens) / per_second)


class ObjectBuckets:
    """A bucket of `burst` tokens for each object, of the `capacity` objects that were asked for last."""

    def __init__(self, burst: int, per_second: float, capacity: int) -> None:
        self._burst = burst
        self._per_second = per_second
        self._capacity = capacity
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def take(self, about: str, now: float) -> bool:
        """Take one of the object's tokens; False if none is left."""
        bucket = self._buckets.pop(about, None) or TokenBucket(self._burst, now)
        self._buckets[about] = bucket
        while len(self._buckets) > self._capacity:
            self._buckets.popitem(last=False)
        if bucket.seconds_to_token(now, self._burst, self._per_second) > 0:
            return False
        bucket.tokens -= 1
        return True
