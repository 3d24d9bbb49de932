"""The files of a recording: together never larger than allowed, the oldest given up, each readable by itself."""

import errno
import random
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.recording.folder import RecordingFolder, TooSmall
from shared.recording.files import LineFile, read_lines
from tests.builders import after

MOST = 64 * 1024


def _text(seed: int, size: int = 2000) -> bytes:
    return random.Random(seed).randbytes(size // 2).hex().encode() + b"\n"


def _write(folder: RecordingFolder, number: int) -> None:
    for each in range(number):
        folder.write(_text(each))


def _sizes(path: Path) -> list[int]:
    return [each.stat().st_size for each in sorted(path.iterdir())]


def test_all_files_together_keep_to_their_space(tmp_path: Path) -> None:
    folder, begun = RecordingFolder(tmp_path / "new", MOST, "a"), 0
    folder.begin(after(0))
    folder.has_listed()
    for number in range(200):
        folder.write(_text(number))
        assert sum(_sizes(folder.path)) <= MOST
        if folder.is_full:
            begun += 1
            folder.begin(after(0) + timedelta(seconds=begun))
            folder.has_listed()
    folder.end()
    assert begun > 8
    assert len(_sizes(folder.path)) >= 6
    left = [line for path in sorted(folder.path.iterdir()) for line in read_lines(path)]
    assert left == [_text(number)[:-1] for number in range(200 - len(left), 200)]


def test_a_file_has_room_for_more_changes_than_objects(tmp_path: Path) -> None:
    folder, full = RecordingFolder(tmp_path, MOST, "a"), []
    folder.begin(after(0))
    _write(folder, 10)
    folder.has_listed()
    for number in range(10, 22):
        full.append(folder.is_full)
        folder.write(_text(number))
    folder.end()
    assert (full[0], full[-1]) == (False, True)


def test_objects_without_room_are_not_written(tmp_path: Path) -> None:
    folder = RecordingFolder(tmp_path, MOST, "a")
    folder.begin(after(0))
    with pytest.raises(TooSmall, match=r"recording\.maxSize"):
        _write(folder, 200)
    folder.end()
    assert sum(_sizes(tmp_path)) <= MOST + 2000


def test_files_of_other_replicas_count_and_are_given_up_by_age(tmp_path: Path) -> None:
    for place, instance in enumerate("ab"):
        folder = RecordingFolder(tmp_path, MOST, instance)
        folder.begin(after(place))
        _write(folder, 30)
        folder.end()
    last = RecordingFolder(tmp_path, MOST, "a")
    last.begin(after(2))
    _write(last, 30)
    last.end()
    assert [each.name.rpartition("-")[2] for each in sorted(tmp_path.iterdir())] == ["b.jsonl.zst", "a.jsonl.zst"]


def test_a_full_disk_gets_room_from_the_oldest_file_and_no_empty_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that, each try left an empty file, and nothing was recorded until a person made room."""
    folder = RecordingFolder(tmp_path, MOST, "a", order=(1,))
    for second in range(3):
        folder.begin(after(second))
        _write(folder, 2)
    folder.end()
    first, *others = sorted(tmp_path.iterdir())

    def refuse(_file: LineFile, _text: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(LineFile, "write", refuse)
        with pytest.raises(OSError, match="No space left"):
            folder.begin(after(3))
    assert not first.exists()
    folder.begin(after(4))
    _write(folder, 1)
    folder.end()
    assert len(others) == 2
    assert [*others, *tmp_path.glob("*000004.*")] == sorted(tmp_path.iterdir())
