"""Which texts about which objects are remembered, and which of them is to be sent next. Pure."""

from collections import OrderedDict
from datetime import timedelta
from heapq import heappop, heappush

from shared.kube.events.note import EventNote, NoteKey


class NoteQueue:
    """At most `capacity` notes. `dropped` counts the events that were forgotten before they were sent."""

    def __init__(self, capacity: int, repeat_after: timedelta) -> None:
        self.dropped = 0
        self._capacity = capacity
        self._repeat_after = repeat_after.total_seconds()
        self._notes: OrderedDict[NoteKey, EventNote] = OrderedDict()
        self._new: OrderedDict[NoteKey, None] = OrderedDict()
        """Notes whose Event does not exist yet; the values say nothing."""
        self._repeats: list[tuple[float, NoteKey]] = []
        """When the series of each is to be incremented."""

    def __len__(self) -> int:
        return len(self._notes)

    def get(self, key: NoteKey) -> EventNote | None:
        """Return the note, if it is remembered."""
        return self._notes.get(key)

    def add(self, key: NoteKey, note: EventNote) -> None:
        """Remember a new note, in place of one with the same key."""
        self.forget(key)
        self._notes[key] = note
        self._new[key] = None
        while len(self._notes) > self._capacity:
            self.forget(next(iter(self._notes)))

    def repeat(self, key: NoteKey, note: EventNote) -> None:
        """Count a remembered note among those heard of last, and send it again after a while if it was sent."""
        self._notes.move_to_end(key)
        self.schedule(key, note)

    @property
    def oldest_new(self) -> EventNote | None:
        """The note that is to be created first."""
        return self._notes[next(iter(self._new))] if self._new else None

    def take_new(self) -> NoteKey:
        """Take the first of those that are to be created."""
        return self._new.popitem(last=False)[0]

    def take_repeat(self, now: float) -> NoteKey | None:
        """Take the first of those whose series is to be incremented by now."""
        return heappop(self._repeats)[1] if self._repeats and self._repeats[0][0] <= now else None

    def seconds_to_repeat(self, now: float) -> float | None:
        """Return how long it is until then; None: there is none."""
        return max(0.0, self._repeats[0][0] - now) if self._repeats else None

    def schedule(self, key: NoteKey, note: EventNote) -> None:
        """Let the series of a note that was sent be incremented after a while."""
        if note.told and not note.scheduled:
            note.scheduled = True
            heappush(self._repeats, (note.told_at + self._repeat_after, key))

    def put_back(self, key: NoteKey, note: EventNote, now: float) -> None:
        """Send a note later that could not be sent."""
        if note.told:
            note.told_at = now
            self.schedule(key, note)
        elif self._notes.get(key) is note:
            self._new[key] = None
            self._new.move_to_end(key, last=False)

    def forget(self, key: NoteKey) -> None:
        """Forget the note; what was not sent of it is dropped."""
        note = self._notes.pop(key, None)
        self._new.pop(key, None)
        if note is not None and not note.told:
            self.dropped += note.count
