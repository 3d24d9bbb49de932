"""The log that `quotree record` writes: a line of JSON for each object that came, changed or went.

{"time": …, "object": {…}} or {"time": …, "deleted": "Job/default/train"}. Objects are kept without what changes all the
time and decides nothing: heartbeats, fields of managers, statuses of groups. A name that ends in .gz is compressed.
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, Final, cast

import msgspec

from cli.read.manifests import Manifest, UnreadableFile
from cli.replay.past import UnreadLines
from shared.json_data import Json

_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
)
_NODE_STATUS: Final = ("allocatable", "conditions")
_READY: Final = "Ready"
_NO_STATUS: Final = frozenset({"QuotaGroup", "ResourceFlavor", "Namespace", "LimitRange"})


class LogLine(msgspec.Struct, omit_defaults=True):
    """One line."""

    time: datetime
    object: dict[str, Any] | None = None
    deleted: str = ""


@dataclass(frozen=True, slots=True)
class ObjectLog:
    """A file of such lines."""

    path: str

    def write(self, mode: str = "wt") -> IO[str]:
        """Open it for writing; `at` goes on at its end. Raises OSError."""
        if self.path.endswith(".gz"):
            return cast("IO[str]", gzip.open(self.path, mode, encoding="utf-8"))
        return open(self.path, mode, encoding="utf-8")  # noqa: PTH123 - the mode is a parameter

    def lines(self, unread: UnreadLines) -> Iterator[LogLine]:
        """Yield its lines; one that is cut off or damaged is counted. Raises UnreadableFile."""
        decoder = msgspec.json.Decoder(LogLine)
        try:
            with self.write("rt") as file:
                for number, line in enumerate(file, 1):
                    try:
                        yield decoder.decode(line)
                    except msgspec.MsgspecError as error:
                        unread.add(number, str(error))
        except EOFError:
            unread.add(0, "the end of the file is missing")
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFile(self.path, None, f"cannot be read: {error}") from error


def is_object_log(first_line: str) -> bool:
    """Return whether a file with this first line is such a log."""
    return first_line.startswith('{"time":')


def encode_line(line: LogLine) -> str:
    """Return the line as it is written."""
    return msgspec.json.encode(line).decode() + "\n"


def recorded_body(manifest: Manifest) -> Json:
    """Return what is kept of an object."""
    body = manifest.body
    metadata = {name: body["metadata"][name] for name in _METADATA if name in body.get("metadata", {})}
    kept = {"apiVersion": manifest.api_version, "kind": manifest.kind, **body, "metadata": metadata}
    if manifest.kind in _NO_STATUS:
        kept.pop("status", None)
    elif manifest.kind == "Node":
        status = {name: value for name, value in body.get("status", {}).items() if name in _NODE_STATUS}
        ready = [each for each in status.get("conditions", []) if each.get("type") == _READY]
        state = [{name: value for name, value in each.items() if name != "lastHeartbeatTime"} for each in ready]
        kept["status"] = {**status, "conditions": state}
    return kept
