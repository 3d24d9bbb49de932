"""The folder of a recording: a file after the other, each readable without those before, the oldest given up for space.

Other replicas might write to the same folder, each while it leads, to files of its own. Raises OSError.
"""

import errno
from datetime import datetime
from pathlib import Path
from typing import Final

from shared.recording.files import LineFile
from shared.recording.lines import LogLine, encode_line

ENDING: Final = ".jsonl.zst"
_PARTS: Final = 8
"""How many files the space is for; so much of it is given up at once."""


class TooSmall(OSError):
    """One file has all the space, and does not name every object yet or nothing more."""

    def __init__(self, most: int) -> None:
        super().__init__(0, f"recording.maxSize ({most} bytes) is too small for the objects of this cluster; raise it")


class RecordingFolder:
    """Begins files, and ends them before they are too large."""

    def __init__(self, path: Path, most: int, instance: str, order: tuple[int, ...] = ()) -> None:
        """`most`: bytes of all files together. `instance`: distinguishes this process's files from others'.

        `order`: how this process's files follow those of others, whatever clocks say; they say so themselves.
        """
        self.path = path
        self._most = most
        self._instance = instance
        self._order = order
        self._begun = 0
        """How many files."""
        self._file: LineFile | None = None
        self._name = ""
        self._size = 0
        self._listed = 0
        """The size of the current file when it named every object."""

    def begin(self, now: datetime) -> None:
        """Begin a file, and end the one before."""
        self.end()
        self.path.mkdir(parents=True, exist_ok=True)
        self._name = f"{now:%Y%m%dT%H%M%S.%fZ}-{self._instance}{ENDING}"
        self._file = LineFile(self.path / self._name)
        self._listed = self._size = 0
        if self._order:
            self._size = self._put(self._file, encode_line(LogLine(now, order=(*self._order, self._begun))))
        self._begun += 1

    def write(self, text: bytes) -> int:
        """Write lines; return by how many bytes the file has grown."""
        if self._file is None:
            return 0
        if self._size >= self._most:
            raise TooSmall(self._most)
        grown = self._put(self._file, text)
        self._size += grown
        self._give_up_oldest()
        return grown

    def has_listed(self) -> None:
        """Say that the current file names every object from here on."""
        self._listed = self._size

    @property
    def is_full(self) -> bool:
        """Whether another file should begin: this one has its part of the space, and more changes than objects."""
        return self._size >= max(self._most // _PARTS, 2 * self._listed)

    def end(self) -> None:
        """End the current file."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            finally:
                if not self._size:
                    (self.path / self._name).unlink(missing_ok=True)

    def _put(self, file: LineFile, text: bytes) -> int:
        """Write lines; where the disk is full, give up the oldest file first, so that another try has room."""
        try:
            return file.write(text)
        except OSError as error:
            oldest = next(iter(self._others()), None) if error.errno == errno.ENOSPC else None
            if oldest is not None:
                oldest.unlink(missing_ok=True)
            raise

    def _others(self) -> list[Path]:
        return sorted(each for each in self.path.glob(f"*{ENDING}") if each.name != self._name)

    def _give_up_oldest(self) -> None:
        """Delete other files, the oldest first, until all have space together."""
        others = self._others()
        sizes = {each: each.stat().st_size for each in others}
        excess = self._size + sum(sizes.values()) - self._most
        for path in others:
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= sizes[path]
