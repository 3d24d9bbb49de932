"""Split a watch's bytes into events: lines, each a frame around an object's JSON.

The object itself is left undecoded: its reader decodes only the fields it uses.
"""

from typing import NamedTuple

import msgspec

_LONGEST_LINE = 64 << 20
_FRAMES = {
    b'{"type":"ADDED","object":': "ADDED",
    b'{"type":"MODIFIED","object":': "MODIFIED",
    b'{"type":"DELETED","object":': "DELETED",
}
_LONGEST_FRAME = max(map(len, _FRAMES))


class Bookmark(NamedTuple):
    """A version up to which all events have been sent; `ends_list`: and all objects there were before."""

    version: str
    ends_list: bool


class EndlessLine(Exception):
    """A line longer than any valid object."""


class Lines:
    """Splits bytes into whole lines; an unfinished one waits for the next read."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add bytes; return the lines that are complete now, without their ends. Raises EndlessLine."""
        end = chunk.rfind(b"\n")
        if end < 0:
            self._rest += chunk
            if len(self._rest) > _LONGEST_LINE:
                raise EndlessLine(f"a line is longer than {_LONGEST_LINE} bytes")
            return []
        whole = bytes(self._rest) + chunk[:end] if self._rest else chunk[:end]
        self._rest = bytearray(chunk[end + 1 :])
        return [line for line in whole.split(b"\n") if line]


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _BookmarkMetadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _BookmarkObject(msgspec.Struct):
    metadata: _BookmarkMetadata


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_bookmark = msgspec.json.Decoder(_BookmarkObject).decode


def split_event(line: bytes) -> tuple[str, bytes]:
    """Return an event's type and its object's JSON. Raises msgspec.MsgspecError.

    The API server frames every event alike. Cutting the frame off saves a pass over the object, which is checked
    as a whole when it is decoded; a frame of another form is decoded.
    """
    frame = line[: line.find(b"{", 1, _LONGEST_FRAME + 1)]
    kind = _FRAMES.get(frame)
    if kind is not None and line.endswith(b"}"):
        return kind, line[len(frame) : -1]
    event = _decode_event(line)
    return event.type, bytes(event.object)


def read_bookmark(raw: bytes) -> Bookmark:
    """Return the object of a BOOKMARK event."""
    metadata = _decode_bookmark(raw).metadata
    ends = (metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"
    return Bookmark(metadata.resource_version, ends)
