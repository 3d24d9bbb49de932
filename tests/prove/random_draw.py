"""Where random choices come from: a seed, or hypothesis (which then shrinks). One generator serves both."""

import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Dice(Protocol):
    """The choices a generator may ask for."""

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""

    def chance(self, percent: int) -> bool:
        """True in about that many of a hundred cases."""

    def one_of(self, items: Sequence[T]) -> T:
        """One of them."""


class Seeded:
    """Choices from a seed: the same seed, the same world."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def between(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def chance(self, percent: int) -> bool:
        return self._random.random() * 100 < percent

    def one_of(self, items: Sequence[T]) -> T:
        return items[self._random.randrange(len(items))]


class Drawn:
    """Choices that hypothesis makes: simplest first, so that failures shrink."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw

    def between(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def one_of(self, items: Sequence[T]) -> T:
        return items[self._draw(st.integers(0, len(items) - 1))]
