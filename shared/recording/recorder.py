"""Which objects are written to a log: those that came, changed or went since they were written last."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.recording.lines import LogLine, encode_body, encode_line, encode_object, log_name, recorded_body


@dataclass(frozen=True, slots=True)
class ClusterObject:
    """An object as the API server has it."""

    api_version: str
    kind: str
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name by which the log calls it."""
        return log_name(self.kind, self.body["metadata"])

    @property
    def is_child(self) -> bool:
        """Whether a controller made this pod: its owner is what is replayed."""
        owners = self.body["metadata"].get("ownerReferences") or ()
        return self.kind == "Pod" and any(each.get("controller") for each in owners)


@dataclass(slots=True)
class ObjectRecorder:
    """What was written last of each object, as a hash, so that memory grows by their number alone."""

    lines: int = 0
    """How many lines it has returned."""
    _known: dict[str, int] = field(default_factory=dict)
    _decided: int = 0
    """How many lines there were with the last one that says that the leader decided."""

    def look(self, now: datetime, objects: Iterable[ClusterObject]) -> bytes:
        """Return the lines of a look at all objects there are. The first look says that it names every one."""
        before, seen, first = self.lines, set[str](), not self._known
        text = [self.changed(now, each, seen) for each in objects]
        text += [self.deleted(now, name) for name in self.unseen(seen)]
        if first and seen:
            text.append(self.whole(now, self.lines - before))
        return b"".join(text)

    def changed(self, now: datetime, found: ClusterObject, seen: set[str] | None = None) -> bytes:
        """Return the line of an object; empty if nothing of it has changed. Its name is added to `seen`."""
        if found.is_child:
            return b""
        name = found.name
        if seen is not None:
            seen.add(name)
        body = encode_body(recorded_body(found.api_version, found.kind, found.body))
        state = hash(body)
        if self._known.get(name) == state:
            return b""
        self._known[name] = state
        self.lines += 1
        return encode_object(now, body)

    def deleted(self, now: datetime, name: str) -> bytes:
        """Return the line of an object that is gone; empty if it was not written."""
        if self._known.pop(name, None) is None:
            return b""
        self.lines += 1
        return encode_line(LogLine(now, deleted=name))

    def unseen(self, seen: AbstractSet[str]) -> list[str]:
        """Return what was written and is not among these names."""
        return sorted(self._known.keys() - seen)

    def whole(self, now: datetime, lines: int) -> bytes:
        """Return the line that says that the last `lines` name every object."""
        self.lines += 1
        return encode_line(LogLine(now, whole=lines))

    def decided(self, line: LogLine) -> bytes:
        """Return the line of a decision; empty if it says nothing: nothing was written since the last one."""
        if self.lines == self._decided and not line.says_more:
            return b""
        self.lines += 1
        self._decided = self.lines
        return encode_line(line)

    def forget(self) -> None:
        """Write every object again: what follows is to be read without what was written before."""
        self._known.clear()
