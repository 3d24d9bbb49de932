"""Files of lines: what can be read of them, whenever their writer was killed, and what is written after it."""

from contextlib import closing
from pathlib import Path

import pytest

from shared.recording.files import DamagedLog, LineFile, UnfinishedLog, ends_whole, read_lines

ENDINGS = pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
COMPRESSED = pytest.mark.parametrize("ending", [".jsonl.gz", ".jsonl.zst"])


def _lines(number: int) -> list[bytes]:
    return [b'{"number":%d,"text":"%s"}' % (each, b"x" * (each * 37 % 900)) for each in range(number)]


def _read(path: Path) -> list[bytes]:
    found: list[bytes] = []
    try:
        found += read_lines(path)
    except DamagedLog:
        found.append(b"damaged")
    return found


@ENDINGS
def test_each_write_can_be_read_before_the_file_is_closed(tmp_path: Path, ending: str) -> None:
    file = LineFile(tmp_path / f"log{ending}")
    for number, line in enumerate(_lines(50), 1):
        grown = file.write(line + b"\n")
        assert grown > 0
        read = [each for each in _read(tmp_path / f"log{ending}") if each != b"damaged"]
        assert read == _lines(number)
    file.close()
    assert _read(tmp_path / f"log{ending}") == _lines(50)
    assert ends_whole(tmp_path / f"log{ending}")


@ENDINGS
def test_a_file_cut_at_any_byte_gives_the_lines_before(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    sizes, lines = [0], _lines(30)
    with closing(LineFile(path)) as file:
        for line in lines:
            sizes.append(sizes[-1] + file.write(line + b"\n"))
    whole = path.read_bytes()
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        written = sum(size <= cut for size in sizes[1:])
        assert _read(path)[:written] == lines[:written]


@ENDINGS
def test_a_file_is_continued(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    for part in (_lines(3), _lines(5)):
        with closing(LineFile(path)) as file:
            file.write(b"\n".join(part) + b"\n")
    assert _read(path) == [*_lines(3), *_lines(5)]


@COMPRESSED
def test_a_compressed_file_that_was_cut_off_is_not_continued(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    with closing(LineFile(path)) as file:
        grown = file.write(b"one\n")
    path.write_bytes(path.read_bytes()[:grown])
    with pytest.raises(UnfinishedLog, match="write to another file"):
        LineFile(path)
    assert _read(path) == [b"one", b"damaged"]


def test_a_text_that_was_cut_off_is_continued_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"one\ntw")
    with closing(LineFile(path)) as file:
        file.write(b"three\n")
    assert _read(path) == [b"one", b"tw", b"three"]


@COMPRESSED
def test_damage_is_reported_after_the_lines_before_it(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    with closing(LineFile(path)) as file:
        file.write(b"one\n")
    path.write_bytes(path.read_bytes() + b"nothing compressed")
    assert _read(path) == [b"one", b"damaged"]
