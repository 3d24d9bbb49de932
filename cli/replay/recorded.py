"""Reads the log of `quotree record`: what its objects say of workloads that came, started, were evicted and ended."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cli.read.manifests import Manifest, manifests_in
from cli.read.objects import READ_KINDS
from cli.read.questions import Question, read_question
from cli.replay.object_logs import ObjectLogs
from cli.replay.past import PastLog, PastWorkload, UnreadLines
from shared.api.annotations import OWN_ANNOTATIONS, read_annotations
from shared.api.durations import later
from shared.kinds.kind import Kinds
from shared.problems import Problem
from shared.quota.measure.inputs.world import World
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.timeline import TimedEdit
from shared.recording.lines import LogLine, log_name

_BEFORE_NEXT_SECOND: Final = timedelta(milliseconds=999)
_SEEN_AT_ONCE: Final = timedelta(seconds=2)
_OF_WORKLOADS: Final = frozenset({"Job", "Pod"})
_OVER: Final = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"})
_PHASES: Final = frozenset({"Succeeded", "Failed"})


@dataclass(slots=True)
class _SeenObject:
    """What the versions of one object say."""

    manifest: Manifest
    first: datetime
    starts: set[datetime] = field(default_factory=set)
    evictions: set[datetime] = field(default_factory=set)
    stops: dict[datetime, timedelta | None] = field(default_factory=dict)
    """Eviction after which the Job was seen with pods → when it was seen without, after so long; None: not yet."""
    ended: datetime | None = None
    gone: datetime | None = None

    def came(self, created: datetime, begin: datetime) -> datetime:
        """Return when the object came, as late as all that is known allows: `created` is a whole second.

        It came before it was seen, and before it was started. What was there at `begin` came then, at the latest.
        """
        if self.first <= begin:
            return max(created, begin)
        return max(created, min(self.first, *self.starts, later(created, _BEFORE_NEXT_SECOND)))


@dataclass(frozen=True, slots=True)
class RecordedCluster:
    """A log and the objects that stood when it begins, without workloads."""

    log: PastLog
    question: Question


def read_recorded(
    paths: Sequence[Path], settings: QuotaSettings, kinds: Kinds | None, tree: Iterable[Manifest] | None
) -> RecordedCluster:
    """Return the log in the files. `tree`: objects in place of its QuotaGroups and flavors. Raises Problem."""
    reading = _Reading([*tree] if tree is not None else None)
    unread = UnreadLines()
    for number, line in ObjectLogs(paths, unread).lines():
        reading.observe(number, line)
    if not reading.times:
        raise Problem("; ".join([f"{', '.join(map(str, paths))}: holds no object", *unread.lines()]))
    return reading.recorded(settings, kinds, unread)


class _Reading:
    def __init__(self, tree: list[Manifest] | None) -> None:
        self.times: list[datetime] = []
        """The first and the last moment of the log."""
        self._given = tree
        self._standing: dict[str, Manifest] = {_name(each): each for each in tree or ()}
        self._seen: dict[str, _SeenObject] = {}
        self._stages: list[tuple[datetime, dict[str, Manifest]]] = []
        """The standing objects after each change of them."""
        self._named: dict[str, int] = {}
        """Object that is there → the last line that names it."""

    def observe(self, number: int, line: LogLine) -> None:
        """Take in one line."""
        time = line.time.astimezone(UTC)
        self.times = [min([*self.times[:1], time]), max([*self.times[1:], time])]
        if line.object is not None:
            (manifest,) = manifests_in([line.object], "log")
            name = _name(manifest)
            self._named[name] = number
            if (manifest.api_version, manifest.kind) in READ_KINDS and manifest.kind not in _OF_WORKLOADS:
                self._stand(time, name, manifest)
            else:
                self._live(time, name, manifest)
        elif line.whole:
            for name in [name for name, last in self._named.items() if last < number - line.whole]:
                self._go(time, name)
        else:
            self._go(time, line.deleted)

    def _go(self, time: datetime, name: str) -> None:
        self._named.pop(name, None)
        if name in self._standing:
            self._stand(time, name, None)
        elif name in self._seen:
            self._seen[name].gone = time

    def _stand(self, time: datetime, name: str, manifest: Manifest | None) -> None:
        if self._given is not None and name.startswith(("QuotaGroup/", "ResourceFlavor/")):
            return
        before = self._standing.get(name)
        if manifest is not None and before is not None and before.body == manifest.body:
            return
        if not self._stages or self._stages[-1][0] != time:
            self._standing = dict(self._standing)
            self._stages.append((time, self._standing))
        if manifest is None:
            del self._standing[name]
        else:
            self._standing[name] = manifest

    def _live(self, time: datetime, name: str, manifest: Manifest) -> None:
        uid = manifest.body["metadata"].get("uid")
        seen = self._seen.get(name)
        if seen is not None and seen.manifest.body["metadata"].get("uid") != uid:
            self._seen[f"{name} {seen.manifest.body['metadata'].get('uid')}"] = seen
            seen = None
        if seen is None:
            seen = self._seen[name] = _SeenObject(manifest, time)
        seen.gone = None
        _note_times(seen, manifest.body, time)

    def recorded(self, settings: QuotaSettings, kinds: Kinds | None, unread: UnreadLines) -> RecordedCluster:
        """Return what was read, when all lines are."""
        begin, end = self.times
        stages = self._stages or [(begin, self._standing)]
        standing = next((each for time, each in reversed(stages) if time <= begin), stages[0][1])
        seen_objects = [each for each in self._seen.values() if each.ended is None or each.ended > begin]
        come = [_as_it_came(each, begin) for each in seen_objects]
        question = read_question([*self._standing.values(), *come], settings, kinds=kinds, later_wins=True)
        by_name = {_name(each.manifest): each for each in seen_objects}
        workloads = sorted(
            (
                _past(replace(each, created=found.came(each.created, begin)) if each.admission is None else each, found)
                for each in question.workloads.workloads
                if (found := by_name.get(f"{each.kind}/{each.key}")) is not None
            ),
            key=lambda each: each.workload.created,
        )
        edits = tuple(
            TimedEdit(time, _edit(read_question(each.values(), settings, kinds=kinds, later_wins=True), time))
            for time, each in stages
            if time > begin
        )
        base = read_question(standing.values(), settings, kinds=kinds, later_wins=True)
        stops = sorted(each for seen in seen_objects for each in seen.stops.values() if each is not None)
        stopping = stops[len(stops) // 2] if stops else timedelta()
        return RecordedCluster(PastLog(begin, end, tuple(workloads), edits, unread, stopping), base)


def _name(manifest: Manifest) -> str:
    return log_name(manifest.kind, manifest.body["metadata"])


def _edit(after: Question, at: datetime) -> Callable[[World], World]:
    """Return the change of a world to the tree, the flavors and the nodes of these objects."""
    changed = after.world_at(at)

    def change(world: World) -> World:
        return replace(
            world,
            tree=changed.tree,
            written=changed.written,
            flavors=changed.flavors,
            nodes=changed.nodes,
            on_closed_nodes=changed.on_closed_nodes,
            largest_nodes=None,
            inactive=changed.inactive,
        )

    return change


def _note_times(seen: _SeenObject, body: Mapping[str, Any], time: datetime) -> None:
    said = read_annotations(body["metadata"].get("annotations") or {})
    if said.admission is not None:
        seen.starts.add(said.admission.time.astimezone(UTC))
    if said.eviction is not None:
        seen.evictions.add(said.eviction.time.astimezone(UTC))
        if said.eviction.since is not None:
            seen.starts.add(said.eviction.since.astimezone(UTC))
        if seen.manifest.kind == "Job" and body["spec"].get("suspend"):
            _note_stop(seen, body.get("status") or {}, said.eviction.time.astimezone(UTC), time)
    if seen.ended is None:
        seen.ended = _end(body.get("status") or {}, time)


def _note_stop(seen: _SeenObject, status: Mapping[str, Any], evicted: datetime, time: datetime) -> None:
    if status.get("active") or status.get("terminating"):
        seen.stops.setdefault(evicted, None)
    elif evicted in seen.stops and seen.stops[evicted] is None:
        seen.stops[evicted] = max(timedelta(), time - evicted)


def _end(status: Mapping[str, Any], time: datetime) -> datetime | None:
    """Return when the object has ended: when it was seen, where that was at once, or else when it says.

    It says whole seconds. What it used is free for others when the end is seen.
    """
    over = [
        each for each in status.get("conditions") or () if each.get("type") in _OVER and each.get("status") == "True"
    ]
    if not over and status.get("phase") not in _PHASES:
        return None
    said = [status.get("completionTime"), *(each.get("lastTransitionTime") for each in over)]
    known = [datetime.fromisoformat(each).astimezone(UTC) for each in said if isinstance(each, str)]
    named = min(known, default=time)
    if not timedelta() <= time - named < _SEEN_AT_ONCE:
        return named
    return min(time, later(named, _BEFORE_NEXT_SECOND))


def _as_it_came(seen: _SeenObject, begin: datetime) -> Manifest:
    """Return the object as it came; as it was, if it was there when the log begins."""
    if seen.first <= begin:
        return seen.manifest
    body = seen.manifest.body
    metadata = body["metadata"]
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in OWN_ANNOTATIONS}
    came = {**body, "metadata": {**metadata, "annotations": annotations}}
    came.pop("status", None)
    if seen.manifest.kind == "Job":
        came["spec"] = {**body["spec"], "suspend": True}
    return replace(seen.manifest, body=came)


def _past(workload: Workload, seen: _SeenObject) -> PastWorkload:
    starts = tuple(sorted(seen.starts))
    waits = len(seen.evictions) >= len(starts)
    ended = seen.ended or (None if waits else seen.gone)
    run_time = max(timedelta(seconds=1), ended - starts[-1]) if ended is not None and starts else None
    left = seen.gone if seen.ended is None and waits else None
    return PastWorkload(workload, run_time, starts, tuple(sorted(seen.evictions)), left)
