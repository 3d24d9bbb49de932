"""Reads logs of `quotree record` and of the reconciler: one file, or several that follow each other."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from cli.read.manifests import UnreadableFile
from cli.replay.past import UnreadLines
from shared.problems import Problem
from shared.recording.files import DamagedLog, read_lines
from shared.recording.lines import LogLine

_ENDINGS: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_decode = msgspec.json.Decoder(LogLine).decode


def files_of(paths: Iterable[str]) -> list[Path]:
    """Return the files; of a folder, those in it that are named as logs are. Raises Problem."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(each for each in path.iterdir() if each.name.endswith(_ENDINGS))
        if not inside:
            raise Problem(f"{path} has no file that ends in {', '.join(_ENDINGS)}")
        found += inside
    return found


def first_line(path: Path) -> str:
    """Return the first line of a file, maybe compressed; empty if it has none. Raises UnreadableFile."""
    try:
        return next(read_lines(path), b"").decode("utf-8-sig")
    except (OSError, DamagedLog, UnicodeDecodeError) as error:
        raise UnreadableFile(str(path), None, f"cannot be read: {error}") from error


class ObjectLogs:
    """Files that follow each other in time: what is later in one than the beginning of the next is left out."""

    def __init__(self, paths: Sequence[Path], unread: UnreadLines) -> None:
        self._unread = unread
        begins = ((_begin(path), path) for path in paths)
        self._files = sorted((begin, path) for begin, path in begins if begin is not None)

    def lines(self) -> Iterator[tuple[int, LogLine]]:
        """Yield each line and its number among all; damaged ones are counted. Raises UnreadableFile."""
        number = 0
        for place, (_, path) in enumerate(self._files):
            end = self._files[place + 1][0] if place + 1 < len(self._files) else None
            for within, line in _lines_of(path):
                number += 1
                if isinstance(line, str):
                    self._unread.add(within, line)
                elif end is None or line.time < end:
                    yield number, line


def _begin(path: Path) -> datetime | None:
    """Return the time of the first line that can be read; None if there is none. Raises UnreadableFile."""
    return next((line.time for _, line in _lines_of(path) if not isinstance(line, str)), None)


def _lines_of(path: Path) -> Iterator[tuple[int, LogLine | str]]:
    """Yield each line and its number in the file; of those that cannot be read, why."""
    try:
        for number, line in enumerate(read_lines(path), 1):
            if line:
                yield number, _decoded(line)
    except DamagedLog as error:
        yield 0, f"{path}: {error}"
    except OSError as error:
        raise UnreadableFile(str(path), None, f"cannot be read: {error}") from error


def _decoded(line: bytes) -> LogLine | str:
    try:
        return _decode(line)
    except msgspec.MsgspecError as error:
        return str(error)
