"""Files of lines, maybe compressed: readable up to the last write, whenever their writer is killed.

The end of the name says how a file is compressed: .gz, .zst, or not at all. Raises OSError throughout.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

FOLDER: Final = "/var/lib/quotree/recording"
"""Where the reconciler records by default."""
_GZIP: Final = 31
"""Deflated data with a header of gzip, as zlib says it."""
_CHUNK: Final = 1 << 16


class _Compression(Protocol):
    """One way to compress."""

    def begin(self) -> Any:
        """Return what compresses: `compress(data)`, `flush()`."""

    def flush(self, stream: Any) -> bytes:
        """Return what is needed to read all that was compressed so far."""

    def read(self) -> Any:
        """Return what reads one compressed stream: `decompress(data)`, `eof`, `unused_data`."""

    @property
    def fault(self) -> type[Exception]:
        """The exception that reading raises for damaged data."""


class _Gzip:
    fault: type[Exception] = zlib.error

    def begin(self) -> Any:
        return zlib.compressobj(wbits=_GZIP)

    def flush(self, stream: Any) -> bytes:
        return bytes(stream.flush(zlib.Z_SYNC_FLUSH))

    def read(self) -> Any:
        return zlib.decompressobj(_GZIP)


class _Zstandard:
    """Imported when it is needed: the command line starts without it."""

    def begin(self) -> Any:
        from zstandard import ZstdCompressor

        return ZstdCompressor().compressobj()

    def flush(self, stream: Any) -> bytes:
        from zstandard import COMPRESSOBJ_FLUSH_BLOCK

        return bytes(stream.flush(COMPRESSOBJ_FLUSH_BLOCK))

    def read(self) -> Any:
        from zstandard import ZstdDecompressor

        return ZstdDecompressor().decompressobj()

    @property
    def fault(self) -> type[Exception]:
        from zstandard import ZstdError

        return ZstdError


_ENDINGS: Final[dict[str, _Compression]] = {".gz": _Gzip(), ".zst": _Zstandard()}


class LineFile:
    """A file that is written. One that exists is continued."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises UnfinishedLog if what follows in it could not be read."""
        self._compression = _ENDINGS.get(path.suffix)
        if path.exists() and not ends_whole(path):
            if self._compression is not None:
                raise UnfinishedLog(path)
            with path.open("ab") as file:
                file.write(b"\n")
        self._file = path.open("ab", buffering=0)
        self._stream = None if self._compression is None else self._compression.begin()

    def write(self, text: bytes) -> int:
        """Write these lines; return by how many bytes the file has grown. They can be read from now on."""
        if self._compression is None or self._stream is None:
            return self._put(text)
        return self._put(self._stream.compress(text) + self._compression.flush(self._stream))

    def close(self) -> None:
        """End the file."""
        if self._stream is not None:
            self._put(self._stream.flush())
        self._file.close()

    def _put(self, data: bytes) -> int:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        return len(data)


class UnfinishedLog(OSError):
    """A compressed file without its end, because its writer was killed: nothing can be written after it."""

    def __init__(self, path: Path) -> None:
        super().__init__(0, "its recording was cut off; write to another file, replay reads several", str(path))


class DamagedLog(Exception):
    """What comes next in a file cannot be read."""


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file. Raises DamagedLog after them if the rest cannot be read."""
    left = b""
    for chunk in _uncompressed(path):
        *lines, left = (left + chunk).split(b"\n")
        yield from lines
    if left:
        yield left


def ends_whole(path: Path) -> bool:
    """Return whether a file ends with a whole line, and its compressed stream ends there too."""
    last = b"\n"
    try:
        for chunk in _uncompressed(path):
            last = chunk[-1:] or last
    except DamagedLog:
        return False
    return last == b"\n"


def _uncompressed(path: Path) -> Iterator[bytes]:
    compression = _ENDINGS.get(path.suffix)
    with path.open("rb") as file:
        chunks = iter(lambda: file.read(_CHUNK), b"")
        yield from chunks if compression is None else _decompressed(chunks, compression)


def _decompressed(chunks: Iterator[bytes], compression: _Compression) -> Iterator[bytes]:
    """Yield what one stream after the other holds, as far as each can be read."""
    stream = None
    for read in chunks:
        chunk = read
        while chunk:
            stream = stream or compression.read()
            try:
                yield stream.decompress(chunk)
            except compression.fault as error:
                raise DamagedLog(str(error)) from error
            chunk = stream.unused_data if stream.eof else b""
            stream = None if stream.eof else stream
    if stream is not None:
        raise DamagedLog("the end of the file is missing")
