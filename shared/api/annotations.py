"""The content of Quotree's own annotations, in both directions: JSON, times in RFC 3339, UTC, microseconds.

Absent members mean "none". Members of later versions are skipped; what cannot be read is a `BadAnnotation`. See
docs/specification.md §2.6.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeVar

import msgspec

from shared.api.durations import later
from shared.api.json.duplicate_keys import find_duplicate_key
from shared.api.json.reading import View
from shared.api.names import ADMISSION, EVICTION, INJECTED, MAIN_POD_SET, NOTICE, REQUEUE, TURN, WAITING

AnnotationText = Annotated[str, msgspec.Meta(max_length=512)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]
MAX_ANNOTATION: Final = 64 * 1024
"""Longer annotations are not parsed: Quotree never writes one."""


SetFlavors = dict[AnnotationText, dict[AnnotationText, AnnotationText]]
"""pod set -> resource -> flavor."""


class AssignedFlavors(View, frozen=True, kw_only=True):
    """Flavors as annotations have them: `flavors` of a workload with one pod set, `podSets` of one with several."""

    flavors: dict[AnnotationText, AnnotationText] | None = None
    pod_sets: SetFlavors = {}

    @property
    def assigned(self) -> SetFlavors:
        """The flavors of every pod set."""
        return self.pod_sets or ({MAIN_POD_SET: self.flavors} if self.flavors else {})


class AdmissionAnnotation(AssignedFlavors, frozen=True, kw_only=True):
    """An admission: in which flavors, and since when; and, once ready pods are ready no more, since when that.

    `members`: the pods of a pod group that were started together; empty: this pod joined its group later. `adopted`:
    whether it was found running, so that no decision has admitted it.
    """

    time: Time
    adopted: bool = False
    was_ready: bool = False
    unready_since: Time | None = None
    members: tuple[AnnotationText, ...] | None = None

    def __post_init__(self) -> None:
        if self.flavors is None and not self.pod_sets:
            raise ValueError("it has neither `flavors` nor `podSets`")


class ClaimAnnotation(AssignedFlavors, frozen=True, kw_only=True):
    """The preemptor for which quota was freed, and in which flavors.

    `workload` is absent for one of another namespace: who may read the victim might not be allowed to know its name.
    """

    workload: AnnotationText = ""
    group: AnnotationText = ""
    uid: AnnotationText = ""
    kind: AnnotationText = "Job"


class EvictionAnnotation(AssignedFlavors, frozen=True, kw_only=True):
    """Why quota was taken, what it was and since when it was held; `ended` once the pods are known to be gone.

    `times`: how often this workload has been evicted, this eviction included. `request`: what it had, resource ->
    quantity.
    """

    reason: AnnotationText
    time: Time
    since: Time | None = None
    rule: str = ""
    message: str = ""
    claim: ClaimAnnotation | None = msgspec.field(default=None, name="for")
    claim_ended: str = ""
    ended: Time | None = None
    times: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] = 1
    request: dict[AnnotationText, AnnotationText] = {}


class RequeueAnnotation(View, frozen=True):
    """The place in the queue after an eviction, and the back-off. `released`: when its owner last queued it again."""

    queued: Time | None = None
    not_before: Time | None = None
    failed_starts: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    deactivated: bool = False
    released: Time | None = None


class NoticeAnnotation(View, frozen=True):
    """That an eviction was announced at `time` for `evict_at`."""

    time: Time
    evict_at: Time | None = None
    preemptor: str = msgspec.field(default="", name="for")
    reason: str = ""


class TurnAnnotation(AssignedFlavors, frozen=True, kw_only=True):
    """That the workload has a turn since `time`, in these flavors."""

    time: Time

    def __post_init__(self) -> None:
        if not self.assigned:
            raise ValueError("it has neither `flavors` nor `podSets`")


class WaitingAnnotation(View, frozen=True):
    """Why the workload waits, as of `time`. People read it, and the next leader, which does not write it again."""

    reason: str = ""
    binding: str = ""
    flavor: str = ""
    resource: str = ""
    message: str = ""
    time: Time | None = None


class InjectedPlacement(View, frozen=True):
    """What Quotree put into one pod template for a flavor."""

    node_selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []


class InjectedAnnotation(InjectedPlacement, frozen=True):
    """The same of the only template of an object, or of each of several: `podSets`, by the names of their sets."""

    pod_sets: dict[AnnotationText, InjectedPlacement] = {}

    def of(self, pod_set: str) -> InjectedPlacement:
        """Return what was put into the template of this pod set; of MAIN_POD_SET: into the only one."""
        return self if pod_set == MAIN_POD_SET and not self.pod_sets else self.pod_sets.get(pod_set, NOT_INJECTED)


NOT_INJECTED: Final = InjectedPlacement()


OWN_ANNOTATIONS: Final = {
    ADMISSION: AdmissionAnnotation,
    EVICTION: EvictionAnnotation,
    REQUEUE: RequeueAnnotation,
    NOTICE: NoticeAnnotation,
    INJECTED: InjectedAnnotation,
    TURN: TurnAnnotation,
}


class BadAnnotation(ValueError):
    """An unreadable annotation of Quotree's; the message says where and why."""


T = TypeVar("T", bound=View)
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
AHEAD: Final = timedelta(days=1)
"""How far another process' clock may be ahead: a time of the past that is later was not written by Quotree."""
_AHEAD_BY_NATURE: Final = frozenset({"not_before", "evict_at"})


def annotation_reader(annotation: str, kind: type[T]) -> Callable[[dict[str, str]], T | None]:
    """Return a function that reads this annotation; None when it is absent. It raises BadAnnotation."""
    decode = msgspec.json.Decoder(kind).decode

    def read(annotations: dict[str, str]) -> T | None:
        text = annotations.get(annotation)
        if text is None:
            return None
        if len(text) > MAX_ANNOTATION:
            raise BadAnnotation(
                f"annotation {annotation} has {len(text)} characters; at most {MAX_ANNOTATION} are read"
            )
        try:
            value = decode(text)
            twice = None if write_annotation(value) == text else find_duplicate_key(text.encode())
        except (ValueError, RecursionError, OverflowError) as error:
            raise BadAnnotation(f"annotation {annotation} is unreadable and counts as absent: {error}") from error
        if twice is not None:
            raise BadAnnotation(f"annotation {annotation} writes {twice} twice and counts as absent")
        return value

    return read


read_admission = annotation_reader(ADMISSION, AdmissionAnnotation)
read_eviction = annotation_reader(EVICTION, EvictionAnnotation)
read_requeue = annotation_reader(REQUEUE, RequeueAnnotation)
read_notice = annotation_reader(NOTICE, NoticeAnnotation)
read_turn = annotation_reader(TURN, TurnAnnotation)
read_waiting = annotation_reader(WAITING, WaitingAnnotation)
read_injected = annotation_reader(INJECTED, InjectedAnnotation)


def split(flavors: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, str] | None, SetFlavors]:
    """Return the members `flavors` and `podSets` that say so; one of them is absent."""
    if flavors.keys() <= {MAIN_POD_SET}:
        return dict(flavors.get(MAIN_POD_SET, {})), {}
    return None, {name: dict(own) for name, own in flavors.items()}


_encode = msgspec.json.Encoder(order="deterministic").encode


def write_annotation(value: View) -> str:
    """Return the annotation's text; members sorted, so that equal values have equal text."""
    return _encode(value).decode()


class Annotations(View, frozen=True):
    """All of Quotree's annotations on one object; None where absent or unreadable, which `problems` then names."""

    admission: AdmissionAnnotation | None = None
    eviction: EvictionAnnotation | None = None
    requeue: RequeueAnnotation | None = None
    notice: NoticeAnnotation | None = None
    injected: InjectedAnnotation | None = None
    turn: TurnAnnotation | None = None
    problems: tuple[str, ...] = ()


NO_ANNOTATIONS: Final = Annotations()


def read_annotations(annotations: dict[str, str], now: datetime | None = None) -> Annotations:
    """Read them all; never raises. One with a time that cannot be is unreadable; `now` None: none is too late."""
    if OWN_ANNOTATIONS.keys().isdisjoint(annotations):
        return NO_ANNOTATIONS
    problems: list[str] = []
    latest = None if now is None else later(now, AHEAD)

    def read(annotation: str, reader: Callable[[dict[str, str]], T | None]) -> T | None:
        try:
            found = reader(annotations)
            _check_times(annotation, found, latest)
        except BadAnnotation as error:
            problems.append(str(error))
            return None
        return found

    return Annotations(
        read(ADMISSION, read_admission),
        read(EVICTION, read_eviction),
        read(REQUEUE, read_requeue),
        read(NOTICE, read_notice),
        read(INJECTED, read_injected),
        read(TURN, read_turn),
        tuple(problems),
    )


def _check_times(annotation: str, value: View | None, latest: datetime | None) -> None:
    """Raise BadAnnotation for a time before EARLIEST or, of what has happened, after `latest`."""
    for field in () if value is None else value.__struct_fields__:
        time = getattr(value, field)
        if isinstance(time, datetime):
            if time < EARLIEST:
                raise BadAnnotation(f"annotation {annotation} counts as absent: {time} is before {EARLIEST:%Y}")
            if latest is not None and time > latest and field not in _AHEAD_BY_NATURE:
                raise BadAnnotation(f"annotation {annotation} counts as absent: {time} is more than a day ahead")
