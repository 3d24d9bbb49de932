"""One text about one object, and the Event that Kubernetes stores of it. Pure."""

import enum
from datetime import datetime
from typing import Any

import msgspec

from shared.api.json.reading import write_time
from shared.kube.resources import EVENTS

LONGEST_NAME = 128
"""Characters of a reason, an action, a controller and an instance."""
_LONGEST_NOTE = 1024

NoteKey = tuple[str, str, str, str, str, str]
"""Object, reason, action and text: equal for repetitions of one event."""


class EventType(enum.Enum):
    """The two types of Kubernetes."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Regarding(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The object an event is about. The event of a cluster-scoped one is in the namespace `default`."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class EventNote(msgspec.Struct):
    """One text about one object, recorded `count` times so far, of which `told` are sent."""

    regarding: Regarding
    type: EventType
    reason: str
    action: str
    note: str
    first: datetime
    last: datetime
    heard: float
    count: int = 1
    told: int = 0
    told_at: float = 0.0
    name: str = ""
    scheduled: bool = False

    @property
    def namespace(self) -> str:
        """Where its Event is stored."""
        return self.regarding.namespace or "default"

    @property
    def series(self) -> dict[str, Any]:
        """How often it was recorded, and when last."""
        return {"count": self.count, "lastObservedTime": write_time(self.last)}

    def event(self, controller: str, instance: str) -> dict[str, Any]:
        """Return the Event to create."""
        event = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "eventTime": write_time(self.first),
            "reportingController": controller,
            "reportingInstance": instance,
            "type": self.type.value,
            "reason": self.reason,
            "action": self.action,
            "note": self.note,
            "regarding": self.regarding,
        }
        return event | {"series": self.series} if self.count > 1 else event


def cut_note(text: str) -> str:
    """As much of the text as an Event can hold: the API server counts bytes of UTF-8."""
    encoded = text.encode()
    return text if len(encoded) <= _LONGEST_NOTE else encoded[: _LONGEST_NOTE - 3].decode(errors="ignore") + "…"
