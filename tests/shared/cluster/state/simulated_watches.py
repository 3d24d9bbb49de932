"""What is stored, and the reconciler's own watches of it, which report as late and in such batches as a test wants."""

from typing import Any, cast

import msgspec

from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.watches import LIVE, watch_everything
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.watch.cache import State
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.quota.model.settings import QuotaSettings
from tests.shared.kinds.objects import preset

Body = dict[str, Any]
TIME = "2026-01-01T00:00:00Z"
_CLUSTER_SCOPED = ("nodes", "namespaces", "quotagroups", "resourceflavors")
_ENDED = ("Succeeded", "Failed")


class SimulatedWatches:
    """Objects by plural and name; the watches are numbered in the order in which the reconciler adds them."""

    def __init__(self) -> None:
        self.state = ClusterState(QuotaSettings())
        self.stored: dict[tuple[str, str], Body] = {}
        watches = Watches()
        watch_everything(cast("Client", None), self.state, watches, lambda: None, kinds=Kinds.of([preset("JobSet")]))
        self.watches: list[Watch[Any]] = watches.members
        self._waiting: list[list[tuple[bytes, bool]]] = [[] for _ in self.watches]
        self._version = 0

    def number_of(self, name: str) -> int:
        """The number of the watch of this name."""
        return [each.name for each in self.watches].index(name)

    def restarted(self) -> "SimulatedWatches":
        """A new process, which has listed everything."""
        other = SimulatedWatches()
        other.stored = self.stored
        for number in range(len(other.watches)):
            other.list_again(number)
        return other

    def store(self, plural: str, name: str, body: Body, *, replaces: bool = False) -> None:
        """Create or change an object; `replaces`: the one of that name is deleted first."""
        if replaces:
            self.delete(plural, name)
        before = self.stored.get((plural, name))
        self._version += 1
        uid = before["metadata"]["uid"] if before is not None else f"{name[:2]}{self._version:06}"
        metadata = {**body.get("metadata", {}), "name": name, "uid": uid, "creationTimestamp": TIME}
        metadata |= {"generation": self._version, "resourceVersion": str(self._version)}
        metadata |= {} if plural in _CLUSTER_SCOPED else {"namespace": "ns"}
        after = self.stored[plural, name] = {**body, "metadata": metadata}
        for watch, waiting in zip(self.watches, self._waiting, strict=True):
            if _selects(watch, plural, after):
                waiting.append((msgspec.json.encode(after), True))
            elif _selects(watch, plural, before):
                waiting.append((msgspec.json.encode(after), False))

    def delete(self, plural: str, name: str) -> None:
        """Delete the object if it exists."""
        before = self.stored.pop((plural, name), None)
        for watch, waiting in zip(self.watches, self._waiting, strict=True):
            if _selects(watch, plural, before):
                waiting.append((msgspec.json.encode(before), False))

    def report(self, number: int, events: int) -> None:
        """This watch reports the next events, in one batch."""
        watch, waiting = self.watches[number], self._waiting[number]
        changes = [(watch._cache.put if exists else watch._cache.drop)(raw)[1] for raw, exists in waiting[:events]]
        del waiting[:events]
        watch._tell([each for each in changes if each is not None])

    def report_all(self) -> None:
        """Every watch reports all that it has not reported yet."""
        for number, waiting in enumerate(self._waiting):
            self.report(number, len(waiting))

    def list_again(self, number: int) -> None:
        """This watch loses its stream and lists what is stored now."""
        watch = self.watches[number]
        self._waiting[number].clear()
        fresh: State[Any] = State()
        for (plural, _), body in self.stored.items():
            if _selects(watch, plural, body):
                watch._cache.gather(fresh, msgspec.json.encode(body))
        watch._tell(watch._cache.replace(fresh))


def _selects(watch: Watch[Any], plural: str, body: Body | None) -> bool:
    if body is None or watch.resource.plural != plural:
        return False
    labels, fields = body["metadata"].get("labels", {}), watch._source.fields
    assert fields in ("", LIVE)
    if fields and body.get("status", {}).get("phase") in _ENDED:
        return False
    wanted = [each for each in watch._source.labels.split(",") if each]
    return all(each[1:] not in labels if each.startswith("!") else each in labels for each in wanted)
