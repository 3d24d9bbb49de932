"""What is written so far of a recording that goes on."""

from contextlib import suppress
from pathlib import Path

from shared.recording.files import DamagedLog, read_lines


def is_recorded(file: Path, text: bytes) -> bool:
    """Whether a line of the file has this text. A file that is being written ends anywhere."""
    with suppress(DamagedLog):
        return any(text in line for line in read_lines(file))
    return False
