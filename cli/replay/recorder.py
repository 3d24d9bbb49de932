"""Writes a log of the live cluster: every so often, what has changed since the last look."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Final

import msgspec

from cli.read.manifests import Manifest
from cli.read.objects import object_name
from cli.replay.object_log import LogLine, encode_line, recorded_body

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(slots=True)
class ObjectRecorder:
    """What was written last of each object, as a hash, so that memory grows by their number alone."""

    file: IO[str]
    written: int = 0
    """Characters."""
    _known: dict[str, int] = field(default_factory=dict)

    def record(self, now: datetime, manifests: Iterable[Manifest]) -> None:
        """Write what came, changed and went since the last time."""
        seen: set[str] = set()
        for manifest in manifests:
            if _is_child(manifest):
                continue
            name, body = object_name(manifest), recorded_body(manifest)
            seen.add(name)
            state = hash(_ENCODER.encode(body))
            if self._known.get(name) != state:
                self._known[name] = state
                self._write(LogLine(now, object=body))
        for name in self._known.keys() - seen:
            del self._known[name]
            self._write(LogLine(now, deleted=name))
        self.file.flush()

    def _write(self, line: LogLine) -> None:
        self.written += self.file.write(encode_line(line))


def _is_child(manifest: Manifest) -> bool:
    """Return whether a controller made this pod: its owner is what is replayed."""
    owners = manifest.body.get("metadata", {}).get("ownerReferences") or ()
    return manifest.kind == "Pod" and any(each.get("controller") for each in owners)
