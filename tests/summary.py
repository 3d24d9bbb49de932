"""Lines that tests leave for the end of the run, where pytest captures nothing: what was measured, what was skipped."""

from typing import Final

import pytest

_LINES: Final = pytest.StashKey[list[str]]()


def note(config: pytest.Config, line: str) -> None:
    """Keep the line for the end of the run."""
    config.stash.setdefault(_LINES, []).append(line)


def write_notes(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write all of them; a folder's `pytest_terminal_summary` calls this."""
    for line in config.stash.get(_LINES, []):
        reporter.line(line)
