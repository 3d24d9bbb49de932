"""How root's runtime changed since the moment until which all is counted: what its children can borrow first."""

from collections.abc import Mapping

from shared.quota.measure.accounts.courses import Course
from shared.resources import Amount, FlavorResource


class RootRuntime:
    """Root's runtime by key; before the first observation it counts as it was then."""

    def __init__(self) -> None:
        self._now: dict[FlavorResource, Amount] = {}
        self._changes: list[tuple[int, FlavorResource, Amount]] = []

    def observe(self, runtime: Mapping[FlavorResource, Amount], now: int, *, is_first: bool) -> None:
        """Count this runtime from now on."""
        if not is_first:
            for key in sorted(runtime.keys() | self._now.keys()):
                delta = runtime.get(key, 0) - self._now.get(key, 0)
                if delta:
                    self._changes.append((now, key, delta))
        self._now = dict(runtime)

    def course(self, key: FlavorResource) -> Course:
        """Return what it was, and how it changed."""
        own = [(time, delta) for time, changed, delta in self._changes if changed == key]
        return Course.of(self._now.get(key, 0) - sum(delta for _, delta in own), own)

    def settle(self, until: int) -> None:
        """Forget the changes up to that moment."""
        self._changes = [each for each in self._changes if each[0] > until]
