"""What went wrong that a person can fix: one sentence, no traceback.

Raised where it is noticed; shown by the command line and by `shared.process.running`, which end with `exit_code`.
"""

from typing import ClassVar


class Problem(Exception):
    """A known problem. Its text is one sentence that says where, what, and how to fix it."""

    exit_code: ClassVar[int] = 2


class KeyProblem(ValueError):
    """A key of a settings file has a value that it cannot have; its reader adds file and line. `key` "": no one key."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}" if key else reason)
        self.key = key
        self.reason = reason
