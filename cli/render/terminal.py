"""The terminal: how wide it is, and lines and characters that it can show. A file or a pipe gets everything."""

import codecs
import os
import select
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType
from typing import Final

_ASCII_CODEC: Final = "quotree_ascii"
_SUBSTITUTES: Final = {"├─ ": "|- ", "└─ ": "`- ", "│": "|", "█": "#", "▓": "+", "░": ".", "…": "...", "→": "->"}
_INDENT: Final = 2
"""Columns by which a continued line is indented."""
_ELLIPSIS: Final = "…"


def width() -> int | None:
    """Return the number of columns of standard output; None where it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(lines: Iterable[str], columns: int | None) -> Iterator[str]:
    """Yield the lines, those that are too long in several; a name is never split."""
    for line in lines:
        if columns is None or len(line) <= columns:
            yield line
            continue
        indent = len(line) - len(line.lstrip()) + _INDENT
        yield from textwrap.wrap(
            line, columns, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
        )


def cut(text: str, columns: int) -> str:
    """Return the text in at most so many columns."""
    return text if len(text) <= columns else text[: max(0, columns - 1)] + _ELLIPSIS


def to_ascii(text: str) -> str:
    """Return the text in ASCII: lines and bars as signs, any other character as its escape in JSON."""
    for character, substitute in _SUBSTITUTES.items():
        text = text.replace(character, substitute)
    return "".join(each if each.isascii() else _escape(each) for each in text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def use_what_it_can_show(environment: Mapping[str, str] = os.environ) -> None:
    """Write ASCII to standard output and error where the locale has no more."""
    codecs.register(lambda name: _CODEC if name == _ASCII_CODEC else None)
    for stream in (sys.stdout, sys.stderr):
        if not _is_utf8(stream.encoding, environment) and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=_ASCII_CODEC)


def end_when_nobody_reads() -> None:
    """End with exit code 0 as soon as the reader of standard output has seen enough, as `head` has."""
    signal.signal(signal.SIGPIPE, _end_if_it_was_the_output)


def _end_if_it_was_the_output(_number: int, _frame: FrameType | None) -> None:
    """Let a broken connection be an error; a broken pipe behind standard output is the end."""
    output = select.poll()
    output.register(1, 0)
    if any(event & select.POLLERR for _, event in output.poll(0)):
        os._exit(0)


def _is_utf8(encoding: str, environment: Mapping[str, str]) -> bool:
    """Return whether the locale has UTF-8; Python itself writes UTF-8 also in the locale C, which has ASCII alone."""
    chosen = environment.get("LC_ALL") or environment.get("LANG") or ""
    return codecs.lookup(encoding).name == "utf-8" and chosen not in ("C", "POSIX")


class _Encoder(codecs.IncrementalEncoder):
    def encode(self, text: str, final: bool = False) -> bytes:
        del final  # every character is written by itself
        return to_ascii(text).encode("ascii")


_CODEC: Final = codecs.CodecInfo(
    name=_ASCII_CODEC,
    encode=lambda text, errors="strict": (to_ascii(text).encode("ascii", errors), len(text)),
    decode=codecs.lookup("ascii").decode,
    incrementalencoder=_Encoder,
    incrementaldecoder=codecs.lookup("ascii").incrementaldecoder,
)
