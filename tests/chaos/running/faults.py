"""What goes wrong: episodes drawn from a seed, each of one kind for a while, over a noise of small ones."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.processes import Process
from shared.api.names import ADMISSION, API_VERSION, HOLD_LABEL, UNIT_LABEL
from tests.chaos.judging.final_list import append_final_list
from tests.chaos.judging.records import JOBSET
from tests.chaos.running.cluster_setup import Stage
from tests.chaos.running.workloads import NAMESPACE, NODES
from tests.faults.kinds import Asked, CutAnswer, Delay, FallSilent, Fault, LoseAnswer, Refuse, Rule, always, writes
from tests.faults.kinds import watches as is_watch

JOBS: Final = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
JOBSETS: Final = f"/apis/{JOBSET.api_version}/namespaces/{NAMESPACE}/{JOBSET.resource}"
PODS: Final = "/api/v1/pods"
NOISE: Final = (
    (Delay(0.0, 0.3), always, 0.05),
    (Refuse(429, retry_after=1), always, 0.01),
    (Refuse(500), always, 0.02),
    (Refuse(503), always, 0.02),
    (Refuse(409), writes, 0.02),
    (LoseAnswer(), writes, 0.05),
    (CutAnswer(), always, 0.03),
)


@dataclass(frozen=True, slots=True)
class Episode:
    """One fault: its kind, how long it lasts in seconds, and which of several it strikes."""

    kind: str
    seconds: float
    target: int

    def __str__(self) -> str:
        return f"{self.kind} for {self.seconds:.1f} s"


def noise() -> list[Rule]:
    """What always goes wrong here and there."""
    return [Rule(fault, when, chance) for fault, when, chance in NOISE]


def schedule(random: Random, kinds: "Faults") -> Iterator[Episode]:
    """Episodes without end: every kind once in each round, in an order of its own."""
    while True:
        round_of_kinds = list(kinds)
        random.shuffle(round_of_kinds)
        for kind in round_of_kinds:
            least, most, _ = kinds[kind]
            yield Episode(kind, random.uniform(least, most), random.randrange(1 << 16))


def commit(episode: Episode, kinds: "Faults", stage: Stage) -> bool:
    """Do it, and end it: afterwards nothing of this episode goes on, only its consequences.

    False: what it was to strike had ended by itself or was being started again.
    """
    try:
        kinds[episode.kind][2](episode, stage)
    except ControlPlaneError:
        return False
    return True


@contextmanager
def _rules(stage: Stage, *rules: Rule) -> Iterator[None]:
    stage.proxy.rules[:0] = rules
    try:
        yield
    finally:
        for rule in rules:
            stage.proxy.rules.remove(rule)


def _storm(*faults: tuple[Fault, Callable[[Asked], bool], float]) -> "Act":
    """Faults on the requests of all processes."""

    def act(episode: Episode, stage: Stage) -> None:
        with _rules(stage, *(Rule(fault, when, chance) for fault, when, chance in faults)):
            time.sleep(episode.seconds)

    return act


def _silent_watches(episode: Episode, stage: Stage) -> None:
    """One process' watches are opened again, say nothing for the whole time, and are cut."""
    name = _one(stage, episode).name
    with _rules(stage, Rule(FallSilent(), lambda asked: is_watch(asked) and asked.client == name)):
        stage.proxy.side(name).cut()
        time.sleep(episode.seconds)
    stage.proxy.side(name).cut()


def _partition(episode: Episode, stage: Stage) -> None:
    side = stage.proxy.side(_one(stage, episode).name)
    side.partition()
    try:
        time.sleep(episode.seconds)
    finally:
        side.heal()


def _kill(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    _one(stage, episode).kill()


def _kill_all(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    for process in (*stage.reconcilers, *stage.webhooks):
        process.kill()


def _frozen(choose: Callable[[Stage, Episode], Process]) -> "Act":
    def act(episode: Episode, stage: Stage) -> None:
        process = choose(stage, episode)
        process.freeze()
        try:
            time.sleep(episode.seconds)
        finally:
            process.thaw()

    return act


def _restart_api_server(episode: Episode, stage: Stage) -> None:
    """Away for a while; what the watches had seen is forgotten: they are told 410 Gone."""
    server = stage.cluster.processes["kube-apiserver"]
    _compact(stage)
    server.stop()
    time.sleep(episode.seconds)
    server.start()


def _kill_api_server(episode: Episode, stage: Stage) -> None:
    """As a machine dies: whatever it was about to do is half done."""
    server = stage.cluster.processes["kube-apiserver"]
    time.sleep(episode.seconds / 3)
    killed = datetime.now(UTC)
    server.kill()
    time.sleep(episode.seconds)
    server.start()
    seen = {"jobs": JOBS, "pods": PODS, **({} if stage.operator is None else {JOBSET.resource: JOBSETS})}
    append_final_list(stage.cluster, stage.audit_log, killed, seen)


def _compact(stage: Stage) -> None:
    """Have etcd forget all revisions but the last; it refuses when nothing was written since it last did."""
    status = _ask_etcd(stage, "maintenance/status", {})
    with suppress(urllib.error.HTTPError):
        _ask_etcd(stage, "kv/compaction", {"revision": status["header"]["revision"], "physical": True})


def _ask_etcd(stage: Stage, what: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
    request = urllib.request.Request(f"{stage.etcd_url}/v3/{what}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(json.load(answer))


def _gone(episode: Episode, stage: Stage) -> None:
    """Compaction under cut watches, and no way back for a while."""
    for side in stage.sides():
        side.partition()
        side.cut()
    try:
        _compact(stage)
        time.sleep(episode.seconds)
    finally:
        for side in stage.sides():
            side.heal()


def _lower_a_ceiling(episode: Episode, stage: Stage) -> None:
    """A department may use less for a while: what is above must go."""
    name, least, most = (("research", "16", "30"), ("product", "14", "32"))[episode.target % 2]
    for cpu in (least, most):
        body = {"spec": {"quotas": [{"min": {"cpu": least}, "max": {"cpu": cpu}}]}}
        _insist(stage, f"/apis/{API_VERSION}/quotagroups/{name}", body)
        time.sleep(episode.seconds / 2)


def _lose_a_node(episode: Episode, stage: Stage) -> None:
    """It takes no pods for a while: half of the cluster's capacity is gone, and must be made do with."""
    name = NODES[episode.target % len(NODES)].name
    for is_lost in (True, False):
        _insist(stage, f"/api/v1/nodes/{name}", {"spec": {"unschedulable": is_lost}})
        time.sleep(episode.seconds / 2)


def _move_a_team(episode: Episode, stage: Stage) -> None:
    """The lab joins a department, and leaves it again."""
    for parent in (("research", "product")[episode.target % 2], "root"):
        _insist(stage, f"/apis/{API_VERSION}/quotagroups/lab", {"spec": {"parent": parent}})
        time.sleep(episode.seconds / 2)


def _held_by_owners(path: str) -> "Act":
    """Owners suspend what has just been started, and let go of it later."""

    def act(episode: Episode, stage: Stage) -> None:
        held = [_path_of(path, each) for each in _running(stage, path)[: episode.target % 3 + 1]]
        for each in held:
            _ask_once(stage, each, {"spec": {"suspend": True}})
        time.sleep(episode.seconds)
        for each in held:
            _insist(stage, each, {"metadata": {"labels": {HOLD_LABEL: None}}})

    return act


def _deleted_by_owners(path: str) -> "Act":
    """Owners delete some that run, some that wait, perhaps for what was taken from others for them."""

    def act(episode: Episode, stage: Stage) -> None:
        chosen = _unfinished(stage, path)[: episode.target % 2 + 1] + _running(stage, path)[: episode.target % 3 + 1]
        time.sleep(episode.seconds)
        for each in chosen:
            stage.withdrawn.add(each["metadata"]["name"])
            _insist_on_deletion(stage, _path_of(path, each))

    return act


def _insist_on_deletion(stage: Stage, path: str) -> None:
    for _ in range(40):
        with suppress(OSError):
            status, _answer = stage.cluster.rest.request("DELETE", path, {"propagationPolicy": "Background"})
            if status in (200, 202, 404):
                return
        time.sleep(0.5)


def _unfinished(stage: Stage, path: str) -> list[dict[str, Any]]:
    """Objects of users that have not finished, the latest first; none when nobody answers."""
    with suppress(OSError):
        status, body = stage.cluster.rest.request("GET", path)
        if status == 200:
            found = [each for each in body["items"] if not _has_ended(each) and UNIT_LABEL not in _labels(each)]
            return sorted(found, key=lambda each: str(each["metadata"]["name"]), reverse=True)
    return []


def _has_ended(found: Mapping[str, Any]) -> bool:
    return any(each["type"] in ("Complete", "Completed") for each in found.get("status", {}).get("conditions", ()))


def _labels(found: Mapping[str, Any]) -> Mapping[str, str]:
    return dict(found["metadata"].get("labels", {}))


def _running(stage: Stage, path: str) -> list[dict[str, Any]]:
    """The latest started first: some of them so lately that their controller does not know it yet."""
    found = [each for each in _unfinished(stage, path) if not each["spec"].get("suspend")]
    return sorted(found, key=_started, reverse=True)


def _started(found: Mapping[str, Any]) -> str:
    annotation = found["metadata"].get("annotations", {}).get(ADMISSION)
    return str(json.loads(annotation)["time"]) if annotation else ""


def _path_of(path: str, found: Mapping[str, Any]) -> str:
    return f"{path}/{found['metadata']['name']}"


def _ask_once(stage: Stage, path: str, body: Mapping[str, object]) -> None:
    with suppress(OSError):
        stage.cluster.rest.request("PATCH", path, body, "application/merge-patch+json")


def _insist(stage: Stage, path: str, body: Mapping[str, object]) -> None:
    for _ in range(40):
        with suppress(OSError):
            status, _answer = stage.cluster.rest.request("PATCH", path, body, "application/merge-patch+json")
            if status in (200, 404):
                return
        time.sleep(0.5)


def _one(stage: Stage, episode: Episode) -> Process:
    """A reconciler that runs, if any does."""
    found = [each for each in stage.reconcilers if each.running] or stage.reconcilers
    return found[episode.target % len(found)]


def _webhook(stage: Stage, episode: Episode) -> Process:
    return stage.webhooks[episode.target % len(stage.webhooks)]


def _kill_webhook(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    _webhook(stage, episode).kill()


def _kill_webhooks(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    for process in stage.webhooks:
        process.kill()


def _operator(stage: Stage) -> Process:
    if stage.operator is None:
        raise ControlPlaneError("there is no operator")
    return stage.operator


def _kill_operator(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    _operator(stage).kill()


def _operator_away(episode: Episode, stage: Stage) -> None:
    """Killed again and again while it starts: for so long its webhooks refuse every JobSet, and nothing is done."""
    ends = time.monotonic() + episode.seconds
    while time.monotonic() < ends:
        with suppress(ControlPlaneError):
            _operator(stage).kill()
        time.sleep(0.3)


Act = Callable[[Episode, Stage], None]
Faults = Mapping[str, tuple[float, float, Act]]
"""The least and the most seconds of each kind, and what is done."""
KINDS: Final[Faults] = {
    "a conflict on every write": (2, 4, _storm((Refuse(409), writes, 1.0))),
    "429 to nearly everything": (2, 4, _storm((Refuse(429, retry_after=1), always, 0.8))),
    "half of the answers cut": (3, 6, _storm((LoseAnswer(), writes, 0.5), (CutAnswer(600), always, 0.5))),
    "500 and 503": (2, 4, _storm((Refuse(500), always, 0.3), (Refuse(503), always, 0.3))),
    "a slow network": (3, 6, _storm((Delay(0.2, 1.5), always, 1.0))),
    "a silent watch": (4, 8, _silent_watches),
    "a reconciler cut off": (8, 12, _partition),
    "a reconciler frozen": (8, 12, _frozen(_one)),
    "a reconciler killed": (0, 1, _kill),
    "a webhook killed": (0, 1, _kill_webhook),
    "all webhooks killed": (0, 1, _kill_webhooks),
    "a webhook frozen": (2, 5, _frozen(_webhook)),
    "all processes killed": (0, 1, _kill_all),
    "the API server frozen": (1, 5, _frozen(lambda stage, _: stage.cluster.processes["kube-apiserver"])),
    "etcd frozen": (1, 3, _frozen(lambda stage, _: stage.cluster.processes["etcd"])),
    "the API server restarted": (0, 3, _restart_api_server),
    "the API server killed": (0, 3, _kill_api_server),
    "etcd compacted under cut watches": (1, 3, _gone),
    "a ceiling lowered": (4, 8, _lower_a_ceiling),
    "a node lost": (6, 10, _lose_a_node),
    "a team moved": (4, 8, _move_a_team),
    "jobs held by their owners": (1, 3, _held_by_owners(JOBS)),
    "jobs deleted by their owners": (0, 1, _deleted_by_owners(JOBS)),
}
OF_JOBSETS: Final[Faults] = {
    "JobSet's operator killed": (0, 1, _kill_operator),
    "JobSet's operator away": (4, 10, _operator_away),
    "JobSet's operator frozen": (3, 8, _frozen(lambda stage, _: _operator(stage))),
    "JobSets held by their owners": (1, 3, _held_by_owners(JOBSETS)),
    "JobSets deleted by their owners": (0, 1, _deleted_by_owners(JOBSETS)),
}
"""Beside `KINDS`, where there are JobSets."""
