"""What the demo says while it runs: numbered chapters, commands as a user would type them, observed facts."""

import sys
import time
from collections.abc import Sequence
from typing import Final

_BOLD: Final = "\033[1m"
_DIM: Final = "\033[2m"
_GREEN: Final = "\033[32m"
_RED: Final = "\033[31m"
_PLAIN: Final = "\033[0m"


class Failed(Exception):
    """Something that the demo promises was not observed."""


class Terminal:
    """Standard output, with colour where there is a terminal."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._chapter = 0
        self._colour = sys.stdout.isatty()

    def chapter(self, title: str) -> None:
        """Begin a numbered part."""
        self._chapter += 1
        passed = time.monotonic() - self._began
        self._say(f"\n{self._style(_BOLD, f'{self._chapter}. {title}')}  {self._style(_DIM, f'[{passed:.0f} s]')}")

    def command(self, words: Sequence[str]) -> None:
        """Show a command before its answer."""
        self._say(self._style(_DIM, "   $ " + " ".join(words)))

    def answer(self, text: str, lines: int | None = None) -> None:
        """Show what a command said, indented; at most `lines` lines of it."""
        output = text.rstrip().splitlines()
        for line in output[:lines]:
            self._say(f"     {line}")
        if len(output[:lines]) < len(output):
            self._say(f"     … and {len(output) - len(output[:lines])} more lines")

    def note(self, text: str) -> None:
        """Say what is going on."""
        self._say(f"   {text}")

    def observed(self, fact: str) -> None:
        """Say what was just seen through the API."""
        self._say(f"   {self._style(_GREEN, '✓')} {fact}")

    def failure(self, reason: str) -> None:
        """Say what was not seen."""
        self._say(f"   {self._style(_RED, '✗')} {reason}")

    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def _style(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._colour else text

    def _say(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
