"""What went wrong that a person can fix: one sentence, no traceback.

Raised where it is noticed; shown by the command line and by `shared.process.running`, which end with `exit_code`.
"""

from traceback import walk_tb
from typing import ClassVar, Final


class Problem(Exception):
    """A known problem. Its text is one sentence that says where, what, and how to fix it."""

    exit_code: ClassVar[int] = 2


class KeyProblem(ValueError):
    """A key of a settings file has a value that it cannot have; its reader adds file and line. `key` "": no one key."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}" if key else reason)
        self.key = key
        self.reason = reason


_HOME: Final = __file__.removesuffix("shared/problems.py")
_PACKAGES: Final = ("shared/", "reconciler/", "webhook/", "dashboard/", "cli/")


def place_of(error: BaseException) -> str:
    """Return where in the project an exception was raised: file:line function; of other code, who called it."""
    found = ""
    for frame, line in walk_tb(error.__traceback__):
        code = frame.f_code
        path = code.co_filename.removeprefix(_HOME)
        if path.startswith(_PACKAGES) or not found:
            found = f"{path}:{line} {code.co_name}"
    return found or "an unknown place"
