"""Which of many things makes a computation fail: the computation is repeated with halves of them. Pure.

Each step of the search is on half of the things of the one before: in all they take as long as the computation itself,
if one thing is enough to fail.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

T = TypeVar("T")
Bisection = Generator[None, None, T]
"""Yields between its steps, so that a caller can do something else meanwhile; returns what it has found."""


def least_failing(suspects: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Bisection[list[T]]:
    """Return few of the suspects with which it fails, and without any one of which it does not.

    It must fail with all of them, and not without any. Of 8 suspects, where 3 and 6 fail only together: neither half
    fails; the first half beside 5 to 8 comes down to 3, the second beside 3 to 6.
    """
    left = list(suspects)
    while len(left) > 1:
        middle = len(left) // 2
        yield
        # Where one is enough, a half without it does not fail: the other is not tried.
        left = left[:middle] if fails(left[:middle]) else left[middle:]
    yield
    return left if fails(left) else (yield from _search(list(suspects), [], fails))


def _search(suspects: list[T], beside: list[T], fails: Callable[[Sequence[T]], bool]) -> Bisection[list[T]]:
    if len(suspects) == 1:
        return suspects
    middle = len(suspects) // 2
    for half in (suspects[:middle], suspects[middle:]):
        yield
        if fails([*beside, *half]):
            return (yield from _search(half, beside, fails))
    first = yield from _search(suspects[:middle], [*beside, *suspects[middle:]], fails)
    second = yield from _search(suspects[middle:], [*beside, *first], fails)
    return [*first, *second]


def finish(search: Bisection[T]) -> T:
    """Run a search to its end."""
    while True:
        try:
            next(search)
        except StopIteration as end:
            found: T = end.value
            return found
