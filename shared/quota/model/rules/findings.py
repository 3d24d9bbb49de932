"""The rules' results: violations and warnings, each with its field, its numbers and its fix; and their text."""

import dataclasses
from collections.abc import Iterable
from typing import Final

MAX_TEXT: Final = 4096
"""Bytes of all violations of one answer together."""


@dataclasses.dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `object` is Kind/name, `field` a path such as spec.quotas[0].min, empty for the whole object.

    `subject` and `excess` show whether an edit made it worse: the same subject was broken before, by how much.
    """

    rule: str
    object: str
    field: str
    message: str
    subject: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)
    excess: int | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The whole sentence, with the rule's code."""
        kind, _, name = self.object.partition("/")
        place = f" {self.field}" if self.field else ""
        return f"{kind} '{name}'{place}: {self.message} ({self.rule})"

    def as_data(self) -> dict[str, str]:
        """Return it as `simulate`, `check` and `what-if` print it: docs/specification.md §9.5."""
        return {"rule": self.rule, "object": self.object, "field": self.field, "message": self.message}

    def is_worse_than(self, before: "Violation") -> bool:
        """Return whether the edit made this one worse than `before`, the same rule broken about the same subject."""
        if self.excess is None or before.excess is None:
            return self.message != before.message
        return self.excess > before.excess


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """Everything that is wrong, and everything that is accepted with a warning, in a stable order."""

    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(self.violations + other.violations, self.warnings + other.warnings)


NO_FINDINGS: Final = Findings()


def write_violations(violations: Iterable[Violation], limit: int = MAX_TEXT) -> str:
    """Return all sentences, one a line, in at most `limit` bytes of UTF-8; the last line says how many did not fit."""
    lines = [violation.text for violation in violations]
    whole = "\n".join(lines)
    if len(whole.encode()) <= limit:
        return whole
    room = limit - len(f"\n… and {len(lines)} more".encode())
    kept: list[str] = []
    for line in lines:
        size = len(line.encode()) + (1 if kept else 0)
        if size > room:
            break
        kept.append(line)
        room -= size
    if not kept:
        kept = [lines[0].encode()[:room].decode(errors="ignore")]
    left = len(lines) - len(kept)
    return "\n".join(kept) + (f"\n… and {left} more" if left else "")
