"""What people do meanwhile: administrators to the tree and nodes, owners to what they have submitted."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from shared.api.names import ADMISSION, API_VERSION, GROUP_LABEL, HOLD_LABEL, UNIT_LABEL
from tests.chaos.judging.history.records import JOBSET
from tests.chaos.running.cluster_setup import Stage
from tests.chaos.running.episode import Act, Episode
from tests.chaos.running.workloads import COUNTED, LEAVES, NAMESPACE, NODES
from tests.reconciler.poisoned import BEFORE_START, name_of
from tests.reconciler.reconciler_process import job_manifest

JOBS: Final = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
JOBSETS: Final = f"/apis/{JOBSET.api_version}/namespaces/{NAMESPACE}/{JOBSET.resource}"


def lower_a_ceiling(episode: Episode, stage: Stage) -> None:
    """A department may use less for a while: what is above must go."""
    name, least, most = (("research", "16", "30"), ("product", "14", "32"))[episode.target % 2]
    for cpu in (least, most):
        body = {"spec": {"quotas": [{"min": {"cpu": least}, "max": {"cpu": cpu}}]}}
        _insist(stage, f"/apis/{API_VERSION}/quotagroups/{name}", body)
        time.sleep(episode.seconds / 2)


def lose_a_node(episode: Episode, stage: Stage) -> None:
    """It takes no pods for a while: half of the cluster's capacity is gone, and must be made do with."""
    name = NODES[episode.target % len(NODES)].name
    for is_lost in (True, False):
        _insist(stage, f"/api/v1/nodes/{name}", {"spec": {"unschedulable": is_lost}})
        time.sleep(episode.seconds / 2)


def move_a_team(episode: Episode, stage: Stage) -> None:
    """The lab joins a department, and leaves it again."""
    for parent in (("research", "product")[episode.target % 2], "root"):
        _insist(stage, f"/apis/{API_VERSION}/quotagroups/lab", {"spec": {"parent": parent}})
        time.sleep(episode.seconds / 2)


def held_by_owners(path: str) -> Act:
    """Owners suspend what has just been started, and let go of it later."""

    def act(episode: Episode, stage: Stage) -> None:
        held = [_path_of(path, each) for each in _running(stage, path)[: episode.target % 3 + 1]]
        for each in held:
            _ask_once(stage, each, {"spec": {"suspend": True}})
        time.sleep(episode.seconds)
        for each in held:
            _insist(stage, each, {"metadata": {"labels": {HOLD_LABEL: None}}})

    return act


def poison_a_step(episode: Episode, stage: Stage) -> None:
    """A Job on which a step of the reconciler fails; it is withdrawn in the end."""
    name = f"{name_of(episode.target % len(BEFORE_START))}-{episode.target}"
    stage.withdrawn.add(name)
    body = job_manifest(name, LEAVES[episode.target % len(LEAVES)], run_for="1s", suspend=False)
    with suppress(OSError):
        stage.cluster.rest.request("POST", JOBS, body, "application/json")
    time.sleep(episode.seconds)
    _insist_on_deletion(stage, f"{JOBS}/{name}")


def deleted_by_owners(path: str) -> Act:
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
            free = [each for each in body["items"] if _labels(each).get(GROUP_LABEL) != COUNTED]
            found = [each for each in free if not _has_ended(each) and UNIT_LABEL not in _labels(each)]
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
