"""Faults of Quotree's own that concern one object, and which objects are set aside for them. Pure.

An object that is set aside is tried again when it changes. See docs/specification.md §5.10.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from traceback import format_exception
from typing import Final, NamedTuple, Self, TypeVar

from shared.problems import place_of

T = TypeVar("T")
WORKLOAD: Final = "Workload"
GROUP: Final = "QuotaGroup"
FLAVOR: Final = "ResourceFlavor"
NODE: Final = "Node"
REASON: Final = "SetAside"
"""In events and conditions."""
_MOST_PLACES: Final = 1000
"""The maximum of (object, place) whose faults are remembered, so that each is told once."""


class Subject(NamedTuple):
    """The object that a fault concerns. `name`: namespace/name, or name; `group`: of a workload."""

    kind: str
    name: str
    uid: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of Quotree's own on this object.

    `is_set_aside`: what the object says counts no more; else one step on it was left out.
    """

    subject: Subject
    place: str
    """file:line function."""
    trace: str
    is_set_aside: bool = True

    @classmethod
    def of(cls, subject: Subject, error: Exception, *, is_set_aside: bool = True) -> Self:
        """Return the fault without the exception, which would keep all that it was computed from."""
        return cls(subject, place_of(error), "".join(format_exception(error)), is_set_aside)

    @property
    def message(self) -> str:
        """Return the sentence for the owner of the object."""
        then = "nothing is started or evicted for it until it changes" if self.is_set_aside else "a step is left out"
        return f"{self.subject.kind} {self.subject.name} meets a fault of Quotree's own at {self.place}: {then}"


class _Entry(NamedTuple):
    fault: Fault
    faulty: object
    instead: object


def _do_nothing() -> None:
    """Do nothing: where no decision cycles run."""


class Faults:
    """What is set aside, by kind (a workload's is WORKLOAD) and key; and faults that have not been told yet."""

    def __init__(self) -> None:
        self.new: list[Fault] = []
        """The reporter removes them."""
        self.when_new: Callable[[], None] = _do_nothing
        """Called for each of these: faults of reports arise between cycles, and nothing else might cause the next."""
        self._aside: dict[tuple[str, str], _Entry] = {}
        self._told: set[tuple[Subject, str]] = set()

    @contextmanager
    def about(self, subject: Subject) -> Iterator[None]:
        """Leave out the rest of the block when it fails: the fault concerns `subject` alone."""
        try:
            yield
        except Exception as error:
            self.note(subject, error)

    def note(self, subject: Subject, error: Exception) -> None:
        """Record that a step on this object has failed and was left out."""
        self._tell(Fault.of(subject, error, is_set_aside=False))

    def set_aside(self, kind: str, key: str, fault: Fault, faulty: T, instead: T | None) -> None:
        """Count `instead` for this object as long as it says the same as `faulty`; None: it does not count.

        Where even that fails which counts in its place, nothing counts.
        """
        known = self._aside.get((kind, key))
        if known is not None and known.instead is faulty:
            faulty, instead = known.faulty, None  # type: ignore[assignment]
        self._aside[kind, key] = _Entry(fault, faulty, instead)
        self._tell(fault)

    def in_place_of(self, kind: str, key: str, value: T) -> T | None:
        """Return what counts for this object now; an object that has changed counts as it is."""
        found = self._aside.get((kind, key)) if self._aside else None
        if found is None:
            return value
        if found.faulty == value:
            return found.instead  # type: ignore[return-value]
        del self._aside[kind, key]
        return value

    def of_kind(self, kind: str) -> dict[str, Fault]:
        """Return the faults for which objects of this kind are set aside, by key."""
        return {key: entry.fault for (found, key), entry in self._aside.items() if found == kind}

    def is_aside(self, kind: str, key: str) -> bool:
        """Return whether this object is set aside."""
        return (kind, key) in self._aside

    def drop(self, kind: str, key: str) -> None:
        """The object is gone, or counts as it is."""
        self._aside.pop((kind, key), None)

    @property
    def aside(self) -> list[Fault]:
        """The faults for which objects are set aside now."""
        return [each.fault for each in self._aside.values()]

    def _tell(self, fault: Fault) -> None:
        where = (fault.subject, fault.place)
        if where in self._told:
            return
        if len(self._told) >= _MOST_PLACES:
            self._told.clear()
        self._told.add(where)
        self.new.append(fault)
        self.when_new()
