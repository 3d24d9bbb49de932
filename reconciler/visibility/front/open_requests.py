"""How many requests are under way, and who has them: nobody can hold all places alone. Pure."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class AllTaken(Exception):
    """No place is free; the message says for whom."""


class OpenRequests:
    """Places for requests; `of_one`: the most that one user has, or the service accounts of one namespace together.

    `what` and `then`: what they are, and what who gets none can do.
    """

    def __init__(self, what: str, then: str, most: int, of_one: int) -> None:
        self.count = 0
        self._what = what
        self._then = then
        self._most = most
        self._of_one = of_one
        self._of = Counter[str]()

    @contextmanager
    def one_more(self, sharer: str) -> Iterator[None]:
        """Take a place while the block runs. Raises AllTaken."""
        if self.count >= self._most:
            raise AllTaken(f"too many {self._what} are open; {self._then}")
        if self._of[sharer] >= self._of_one:
            whose = "of this user, or of its namespace's accounts,"
            raise AllTaken(f"{self._of_one} {self._what} {whose} are open; {self._then}")
        self.count += 1
        self._of[sharer] += 1
        try:
            yield
        finally:
            self.count -= 1
            self._of[sharer] -= 1
            if not self._of[sharer]:
                del self._of[sharer]
