"""How much of one budget is used, at any moment: exact, from what is added up and all changes of use since then.

Between two changes use grows evenly, so the moment at which an amount is reached is a division.

See docs/specification.md §2.11.
"""

from collections.abc import Iterable

from shared.quota.measure.accounts.budgets.periods import BudgetSpan, span_of
from shared.quota.measure.accounts.courses import Course, use_areas
from shared.quota.model.budgets.budget import BudgetKey
from shared.resources import Amount


class Growth:
    """How use grows: what is used at `t` is `offset + rate * t`, from `latest` on."""

    def __init__(self, since: int, used: Amount) -> None:
        self.latest = since
        self.rate: Amount = 0
        self._offset = used

    def add(self, time: int, delta: Amount) -> None:
        """Let use grow faster by `delta` from that time on."""
        self.latest = max(self.latest, time)
        self.rate += delta
        self._offset -= delta * time

    def used_at(self, time: int) -> Amount:
        """Return what is used at that time, or would be if it had always grown as fast."""
        return self._offset + self.rate * time

    def when_reached(self, amount: Amount) -> int | None:
        """Return when so much will be used at the present rate; None: never."""
        return -(-(amount - self._offset) // self.rate) if self.rate > 0 else None


class BudgetMeter:
    """What is used for one budget key: `used` in `span` until `until`; nothing after it is added up.

    `counted_since`: use before is not known. `begun`: until when all was added up when this leader began. `current`:
    the period that the latest question was about.
    """

    def __init__(self, key: BudgetKey, span: BudgetSpan, counted_since: int, used: Amount = 0) -> None:
        self.key = key
        self.span = self.current = span
        self.counted_since = max(counted_since, span.since)
        self.used = used
        self.until = self.begun = self.counted_since
        self.reached: dict[Amount, int] = {}
        """amount -> when so much was used in the current period, of amounts that were asked for."""
        self._level: Amount = 0
        self._changes: list[tuple[int, Amount]] = []
        """(milliseconds since 1970, by how much), on top of `_level`."""
        self._growth = Growth(0, 0)
        self._count_again()

    @property
    def rate(self) -> Amount:
        """What is used in a millisecond now."""
        return self._growth.rate

    def add_up(self, until: int) -> None:
        """Add up what was used until then; in a new period nothing of the one before is kept."""
        course = Course.of(self._level, self._changes)
        if until >= self.span.until:
            self.span = span_of(self.key, until)
            self.used, self.counted_since = 0, self.span.since
        begin = max(self.until, self.counted_since)
        self.used += use_areas(course, begin, max(begin, until)).used
        self.until = max(begin, until)
        level = self._level + sum(delta for time, delta in self._changes if time <= self.until)
        self.anchor(level, [(time, delta) for time, delta in self._changes if time > self.until])

    def anchor(self, level: Amount, changes: Iterable[tuple[int, Amount]]) -> None:
        """Set how use goes on from `until`: changes before that count from there on."""
        self._level, self._changes = level, list(changes)
        self._count_again()

    def observe(self, time: int, delta: Amount) -> None:
        """Count a change of use that was seen just now."""
        self._changes.append((time, delta))
        self._count(time, delta)
        self.reached = {amount: at for amount, at in self.reached.items() if at <= max(time, self._base)}

    def used_at(self, now: int) -> Amount:
        """Return what is used of the current period."""
        self._advance(now)
        return max(0, self._growth.used_at(now))

    def when_reached(self, amount: Amount, now: int) -> int | None:
        """Return when so much was or will be used in the current period, at the present use; None: not in it."""
        self._advance(now)
        known = self.reached.get(amount)
        if known is None:
            known = self._reach(amount)
            if known is not None and known <= now:
                self.reached[amount] = known
        return known if known is not None and known < self.current.until else None

    def _reach(self, amount: Amount) -> int | None:
        latest = self._growth.latest
        if self._growth.used_at(latest) < amount:
            return self._growth.when_reached(amount)
        used = self._begun_with
        if used >= amount:
            return self._base
        for since, until, level in Course.of(self._level, self._changes).pieces(self._base, latest):
            if used + level * (until - since) >= amount:
                return since - (-(amount - used) // level)
            used += level * (until - since)
        return latest

    def _advance(self, now: int) -> None:
        """Go on to the period that the moment is in; a clock that goes back stays in the later one."""
        if now >= self.current.until:
            self.current, self.reached = span_of(self.key, now), {}
            self._count_again()

    @property
    def _base(self) -> int:
        return max(self.until, self.current.since, self.counted_since)

    @property
    def _begun_with(self) -> Amount:
        return self.used if self.current == self.span else 0

    def _count_again(self) -> None:
        self._growth = Growth(self._base, self._begun_with)
        self._count(self._base, self._level)
        for time, delta in self._changes:
            self._count(time, delta)

    def _count(self, time: int, delta: Amount) -> None:
        self._growth.add(max(time, self._base), delta)
