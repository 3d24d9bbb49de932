"""What went wrong that a person can fix: one sentence, no traceback.

Raised where it is noticed; shown by the command line and by `shared.process.running`, which end with `exit_code`.
"""

from typing import ClassVar


class Problem(Exception):
    """A known problem. Its text is one sentence that says where, what, and how to fix it."""

    exit_code: ClassVar[int] = 2
