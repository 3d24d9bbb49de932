"""Reads logs of `quotree record` and of the reconciler: one file, or several that follow each other."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
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
    """Files that follow each other: in the order that leaders wrote into them, or else in that of their times.

    By their times, what is later in one than the beginning of the next is left out. In the leaders' order nothing is,
    and a clock that goes back stands still instead.
    """

    def __init__(self, paths: Sequence[Path], unread: UnreadLines) -> None:
        self._unread = unread
        begins = [(begin, path) for path in paths if (begin := _begin(path)) is not None]
        self._is_ordered = all(begin.order for begin, _ in begins)
        begins.sort(key=lambda each: (each[0].order if self._is_ordered else (), each[0].time, each[1]))
        self._files = [(begin.time, path) for begin, path in begins]

    def lines(self) -> Iterator[tuple[int, LogLine]]:
        """Yield each line and its number among all; damaged ones are counted. Raises UnreadableFile."""
        number, latest = 0, datetime.min.replace(tzinfo=UTC)
        for place, (_, path) in enumerate(self._files):
            is_last = self._is_ordered or place + 1 == len(self._files)
            end = None if is_last else self._files[place + 1][0]
            for within, line in _listed_first(path):
                number += 1
                if isinstance(line, str):
                    self._unread.add(within, line)
                elif end is None or line.time < end:
                    if self._is_ordered:
                        latest = line.time = max(latest, line.time)
                    yield number, line


def _begin(path: Path) -> LogLine | None:
    """Return the first line that can be read; None if there is none. Raises UnreadableFile."""
    return next((line for _, line in _lines_of(path) if not isinstance(line, str)), None)


def _listed_first(path: Path) -> Iterator[tuple[int, LogLine | str]]:
    """Yield as `_lines_of` does, but what the file lists at its beginning before what came while that was listed.

    What is listed was there when the file began: what the leader decided then or meanwhile, it decided knowing it.
    """
    begin: datetime | None = None
    lines, meanwhile = _lines_of(path), list[tuple[int, LogLine | str]]()
    for number, line in lines:
        if isinstance(line, LogLine):
            begin = begin or line.time
            if line.whole or line.decided or line.time > begin:
                meanwhile.append((number, line))
                if line.whole:
                    break
                continue
        yield number, line
    yield from meanwhile
    yield from lines


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
