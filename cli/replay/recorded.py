"""Reads the log of `quotree record`: what its objects say of workloads that came, started, were evicted and ended."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cli.read.manifests import Manifest, manifests_in
from cli.read.objects import READ_KINDS
from cli.read.questions import Question, read_question
from cli.replay.object_logs import ObjectLogs
from cli.replay.past import PastLog, PastWorkload, UnreadLines
from cli.replay.sightings import Decision, SeenObject, Sight
from shared.api.annotations import OWN_ANNOTATIONS
from shared.kinds.kind import Kinds
from shared.problems import Problem
from shared.quota.measure.inputs.world import World
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.simulate.reactions import Reactions
from shared.quota.outlook.simulate.timeline import TimedEdit
from shared.recording.lines import LogLine, log_name, log_name_of

_OF_WORKLOADS: Final = frozenset({"Job", "Pod"})


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
        self._seen: dict[str, SeenObject] = {}
        self._stages: list[tuple[Sight, dict[str, Manifest]]] = []
        """The standing objects after each change of them."""
        self._is_of_leader = False
        self._decision = Decision()
        """The next one."""
        self._decisions: list[datetime] = []
        """When the leader decided."""
        self._named: dict[str, int] = {}
        """Object that is there → the last line that names it."""

    def observe(self, number: int, line: LogLine) -> None:
        """Take in one line."""
        time = line.time.astimezone(UTC)
        self.times = [min([*self.times[:1], time]), max([*self.times[1:], time])]
        sight = Sight(time, self._decision)
        self._is_of_leader = self._is_of_leader or bool(line.order)
        if line.decided:
            self._decision.time, self._decision = time, Decision()
            self._decisions.append(time)
            for seen in filter(None, map(self._seen.get, line.noted)):
                seen.note_start(sight)
            for seen in filter(None, map(self._seen.get, line.freed)):
                seen.note_freed(sight)
            for seen in filter(None, map(self._seen.get, line.ended)):
                seen.note_end_of_pods(sight)
        elif line.object is not None:
            (manifest,) = manifests_in([line.object], "log")
            name = _name(manifest)
            self._named[name] = number
            if (manifest.api_version, manifest.kind) in READ_KINDS and manifest.kind not in _OF_WORKLOADS:
                self._stand(sight, name, manifest)
            else:
                self._live(sight, name, manifest)
        elif line.whole:
            for name in [name for name, last in self._named.items() if last < number - line.whole]:
                self._go(sight, name)
        elif line.deleted:
            self._go(sight, line.deleted)

    def _go(self, sight: Sight, name: str) -> None:
        self._named.pop(name, None)
        if name in self._standing:
            self._stand(sight, name, None)
        elif name in self._seen:
            self._seen[name].gone = sight

    def _stand(self, sight: Sight, name: str, manifest: Manifest | None) -> None:
        if self._given is not None and name.startswith(("QuotaGroup/", "ResourceFlavor/")):
            return
        before = self._standing.get(name)
        if manifest is not None and before is not None and before.body == manifest.body:
            return
        if not self._stages or self._stages[-1][0] != sight:
            self._standing = dict(self._standing)
            self._stages.append((sight, self._standing))
        if manifest is None:
            del self._standing[name]
        else:
            self._standing[name] = manifest

    def _live(self, sight: Sight, name: str, manifest: Manifest) -> None:
        uid = manifest.body["metadata"].get("uid")
        seen = self._seen.get(name)
        if seen is not None and seen.manifest.body["metadata"].get("uid") != uid:
            self._seen[f"{name} {seen.manifest.body['metadata'].get('uid')}"] = seen
            seen = None
        if seen is None:
            seen = self._seen[name] = SeenObject(manifest, sight)
        seen.observe(manifest.body, sight, knows_pods=self._is_of_leader)

    def recorded(self, settings: QuotaSettings, kinds: Kinds | None, unread: UnreadLines) -> RecordedCluster:
        """Return what was read, when all lines are."""
        begin, end = self.times
        stages = self._stages or [(Sight(begin, Decision()), self._standing)]
        standing = next((each for sight, each in reversed(stages) if sight.time <= begin), stages[0][1])
        seen_objects = [each for each in self._seen.values() if each.ended is None or each.ended > begin]
        come = [_as_it_came(each, begin) for each in seen_objects]
        question = read_question([*self._standing.values(), *come], settings, kinds=kinds, later_wins=True)
        by_name = {_name(each.manifest): each for each in seen_objects}
        workloads = sorted(
            (
                _past(each, found, begin)
                for each in question.workloads.workloads
                if (found := by_name.get(log_name_of(each))) is not None
            ),
            key=lambda each: each.decided,
        )
        edits = tuple(
            TimedEdit(at, _edit(read_question(each.values(), settings, kinds=kinds, later_wins=True), at))
            for at, each in ((sight.known, each) for sight, each in stages if sight.time > begin)
        )
        base = read_question(standing.values(), settings, kinds=kinds, later_wins=True)
        stopping = _reactions((each.workload.id, by_name[log_name_of(each.workload)].stops()) for each in workloads)
        answering = _reactions((each.workload.id, by_name[log_name_of(each.workload)].answers()) for each in workloads)
        log = PastLog(begin, end, tuple(workloads), edits, unread, stopping, answering, decisions=self._decisions)
        return RecordedCluster(log, base)


def _reactions(known: Iterable[tuple[WorkloadId, tuple[timedelta | None, ...]]]) -> Reactions:
    """Return how long what was seen took; what was not takes the median of it."""
    found = dict(known)
    seen = sorted(each for times in found.values() for each in times if each is not None)
    return Reactions(seen[len(seen) // 2] if seen else timedelta(), found)


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


def _as_it_came(seen: SeenObject, begin: datetime) -> Manifest:
    """Return the object as it came; as it was, if it was there when the log begins."""
    if seen.first.time <= begin:
        return seen.manifest
    body = seen.manifest.body
    metadata = body["metadata"]
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in OWN_ANNOTATIONS}
    came = {**body, "metadata": {**metadata, "annotations": annotations}}
    came.pop("status", None)
    if seen.manifest.kind == "Job":
        came["spec"] = {**body["spec"], "suspend": True}
    return replace(seen.manifest, body=came)


def _past(workload: Workload, seen: SeenObject, begin: datetime) -> PastWorkload:
    starts = tuple(sorted(seen.starts))
    waits = len(seen.evictions) >= len(starts)
    gone = None if seen.gone is None else seen.gone.known
    ended = seen.ended or (None if waits else gone)
    run_time = max(timedelta(seconds=1), ended - starts[-1]) if ended is not None and starts else None
    left = gone if seen.ended is None and waits else None
    came, decided = seen.came(workload.created, begin), seen.decided(workload.created, begin)
    ends_evicted = waits and seen.ended is not None
    return PastWorkload(workload, run_time, starts, tuple(sorted(seen.evictions)), left, came, decided, ends_evicted)
