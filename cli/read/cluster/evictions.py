"""Read the past evictions of a cluster: from the annotations of workloads that are there, and from events.

The annotation of a Job, or of an object of a governed kind, has its latest eviction, whole, for as long as the object
is there, and survives every restart. Events have earlier ones, and those of workloads that are gone, for as long as the
API server keeps them: an hour by default.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

import msgspec

from cli.read.cluster.live import LiveCluster
from cli.read.cluster.live_objects import items_if_known
from cli.read.cluster.settings import live_settings
from shared.api.annotations import BadAnnotation, EvictionAnnotation, read_eviction
from shared.api.names import GROUP_LABEL, POD_GROUP_LABEL, SCHEDULER_PREEMPTED
from shared.json_data import Json
from shared.quota.model.workload import EvictionReason

_SAME: Final = timedelta(seconds=10)
"""An event and an annotation whose times differ by at most this are of the same eviction."""
_PAGE: Final = 500
_MOST_EVENTS: Final = 20_000
_REASONS: Final = frozenset(each.value for each in EvictionReason)


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    continue_: str = msgspec.field(default="", name="continue")


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Regarding(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    count: int = 1
    last_observed_time: datetime | None = None


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    event_time: datetime | None = None
    reason: str = ""
    action: str = ""
    note: str = ""
    reporting_controller: str = ""
    regarding: _Regarding = _Regarding()
    series: _Series | None = None


class _Events(msgspec.Struct, frozen=True):
    items: list[_Event]
    metadata: _Metadata = _Metadata()


def read_evictions(cluster: LiveCluster, namespace: str | None) -> list[Json]:
    """Return the evictions of a namespace or of all, the latest first. Raises ClusterProblem."""
    path = f"/namespaces/{quote(namespace)}" if namespace else ""
    objects = {
        "Job": _objects(cluster.items(f"/apis/batch/v1{path}/jobs")),
        "Pod": _objects(cluster.items(f"/api/v1{path}/pods")),
        **{
            kind.kind: _objects(items_if_known(cluster, f"/apis/{kind.api_version}{path}/{kind.resource}"))
            for kind in live_settings(cluster).kinds.suspended
        },
    }
    return join_evictions(objects, _events(cluster, f"/apis/events.k8s.io/v1{path}/events"))


def _objects(items: Iterable[msgspec.Raw]) -> list[_Metadata]:
    return [msgspec.json.decode(raw, type=_Object).metadata for raw in items]


def _events(cluster: LiveCluster, path: str) -> list[_Event]:
    found: list[_Event] = []
    begin = ""
    while len(found) < _MOST_EVENTS:
        query = f"?limit={_PAGE}{f'&continue={quote(begin)}' if begin else ''}"
        page = msgspec.json.decode(cluster.get(path + query), type=_Events)
        found += [each for each in page.items if _is_eviction(each) or each.reason == SCHEDULER_PREEMPTED]
        begin = page.metadata.continue_
        if not begin:
            break
    return found


def _is_eviction(event: _Event) -> bool:
    return event.action == "Evict" and event.reason in _REASONS


class NewEvictions:
    """Returns the evictions that `read` lists, the latest last: all on the first call, then those that are new.

    An eviction stays the same when its object is deleted and only its event, which is a little later, is left.
    """

    def __init__(self, read: Callable[[], Sequence[Json]]) -> None:
        self._read = read
        self._known: dict[str, list[datetime]] = {}

    def __call__(self) -> list[Json]:
        found = [each for each in reversed(self._read()) if not self._is_known(each)]
        for each in found:
            self._known.setdefault(each["workload"], []).append(datetime.fromisoformat(each["at"]))
        return found

    def _is_known(self, eviction: Json) -> bool:
        return _is_at_one_of(datetime.fromisoformat(eviction["at"]), self._known.get(eviction["workload"], ()))


def _is_at_one_of(at: datetime, times: Iterable[datetime]) -> bool:
    return any(abs(at - each) <= _SAME for each in times)


def join_evictions(objects: dict[str, list[_Metadata]], events: Iterable[_Event]) -> list[Json]:
    """Merge the evictions of annotations and events without duplicates."""
    names = {each.uid: f"{each.namespace}/{each.name}" for found in objects.values() for each in found}
    groups = {each.uid: each.labels.get(GROUP_LABEL, "") for found in objects.values() for each in found}
    from_annotations = [each for kind, found in objects.items() for each in _evictions_of_objects(kind, found, names)]
    known: dict[str, list[datetime]] = {}
    for each in from_annotations:
        known.setdefault(each["uid"], []).append(datetime.fromisoformat(each["at"]))
    from_events = [
        _eviction_of_event(each, each.event_time, groups)
        for each in events
        if each.event_time is not None
        and not (_is_eviction(each) and _is_at_one_of(each.event_time, known.get(each.regarding.uid, ())))
    ]
    found = sorted([*from_annotations, *from_events], key=lambda each: str(each["at"]), reverse=True)
    return [{name: value for name, value in each.items() if name != "uid"} for each in found]


def _evictions_of_objects(kind: str, found: Iterable[_Metadata], names: dict[str, str]) -> Iterator[Json]:
    seen: set[tuple[str, datetime]] = set()
    for each in found:
        try:
            eviction = read_eviction(each.annotations)
        except BadAnnotation:
            continue
        if eviction is None:
            continue
        key = each.labels.get(POD_GROUP_LABEL, each.name) if kind == "Pod" else each.name
        if (key, eviction.time) not in seen:
            seen.add((key, eviction.time))
            yield _eviction(kind, each, key, eviction, names)


def _eviction(kind: str, seen: _Metadata, key: str, eviction: EvictionAnnotation, names: dict[str, str]) -> Json:
    claim = eviction.claim
    flavors = sorted({flavor for own in eviction.assigned.values() for flavor in own.values()})
    return {
        "uid": seen.uid,
        "at": eviction.time.isoformat(),
        "workload": f"{seen.namespace}/{key}",
        "kind": "PodGroup" if kind == "Pod" and POD_GROUP_LABEL in seen.labels else kind,
        "group": seen.labels.get(GROUP_LABEL, ""),
        "reason": eviction.reason,
        "rule": eviction.rule,
        "for": (claim.workload or names.get(claim.uid, "")) if claim is not None else "",
        "forGroup": claim.group if claim is not None else "",
        "flavors": flavors,
        "request": eviction.request,
        "times": eviction.times,
        "message": eviction.message,
        "source": "annotation",
    }


def _eviction_of_event(event: _Event, at: datetime, groups: dict[str, str]) -> Json:
    about = event.regarding
    return {
        "uid": about.uid,
        "at": at.isoformat(),
        "workload": f"{about.namespace}/{about.name}",
        "kind": about.kind,
        "group": groups.get(about.uid, ""),
        "reason": event.reason,
        "rule": "",
        "for": "",
        "forGroup": "",
        "flavors": [],
        "request": {},
        "times": event.series.count if event.series is not None else 1,
        "message": event.note,
        "source": "event",
    }
