"""Faults of processes: killed, frozen, or away for a while; and of etcd, which forgets what watches go on from."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.processes import Process
from tests.chaos.judging.final_list import append_final_list
from tests.chaos.judging.history.records import JOBSET
from tests.chaos.running.cluster_setup import Stage
from tests.chaos.running.episode import Act, Episode
from tests.chaos.running.owner_faults import JOBS, JOBSETS

PODS: Final = "/api/v1/pods"


def kill(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    one_reconciler(stage, episode).kill()


def kill_all(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    for process in (*stage.reconcilers, *stage.webhooks):
        process.kill()


def frozen(choose: Callable[[Stage, Episode], Process]) -> Act:
    def act(episode: Episode, stage: Stage) -> None:
        process = choose(stage, episode)
        process.freeze()
        try:
            time.sleep(episode.seconds)
        finally:
            process.thaw()

    return act


def restart_api_server(episode: Episode, stage: Stage) -> None:
    """Away for a while; what the watches had seen is forgotten: they are told 410 Gone."""
    server = stage.cluster.processes["kube-apiserver"]
    _compact(stage)
    server.stop()
    time.sleep(episode.seconds)
    server.start()


def kill_api_server(episode: Episode, stage: Stage) -> None:
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


def gone(episode: Episode, stage: Stage) -> None:
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


def one_reconciler(stage: Stage, episode: Episode) -> Process:
    """A reconciler that runs, if any does."""
    found = [each for each in stage.reconcilers if each.running] or stage.reconcilers
    return found[episode.target % len(found)]


def webhook(stage: Stage, episode: Episode) -> Process:
    return stage.webhooks[episode.target % len(stage.webhooks)]


def kill_webhook(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    webhook(stage, episode).kill()


def kill_webhooks(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    for process in stage.webhooks:
        process.kill()


def operator(stage: Stage) -> Process:
    if stage.operator is None:
        raise ControlPlaneError("there is no operator")
    return stage.operator


def kill_operator(episode: Episode, stage: Stage) -> None:
    time.sleep(episode.seconds)
    operator(stage).kill()


def operator_away(episode: Episode, stage: Stage) -> None:
    """Killed again and again while it starts: for so long its webhooks refuse every JobSet, and nothing is done."""
    ends = time.monotonic() + episode.seconds
    while time.monotonic() < ends:
        with suppress(ControlPlaneError):
            operator(stage).kill()
        time.sleep(0.3)
