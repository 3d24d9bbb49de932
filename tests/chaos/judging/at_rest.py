"""The cluster after a run: whether all workloads have finished, and if not, whether the engine would act."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from dev.controlplane.cluster import ControlPlane
from shared.api.core.limitrange import read_limit_range
from shared.api.core.namespace import read_namespace
from shared.api.core.pod import Pod
from shared.api.core.priority import Priorities, read_priority_class
from shared.api.names import API_VERSION, EVICTION, GROUP_LABEL, UNIT_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.kind_projection import project_kind
from shared.cluster.state.observed.projections import project_group, project_job, project_node, project_pod
from shared.kube.watch.cache import Changed, Project
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.chaos.judging.causes import Surrounding
from tests.chaos.judging.checker import Flaw
from tests.chaos.judging.history.history import Version
from tests.chaos.judging.history.records import JOBSET, Submitted

R = TypeVar("R")
PATHS = {
    "jobs": "/apis/batch/v1/jobs",
    JOBSET.resource: JOBSET.path,
    "pods": "/api/v1/pods",
    "groups": f"/apis/{API_VERSION}/quotagroups",
    "nodes": "/api/v1/nodes",
    "namespaces": "/api/v1/namespaces",
    "priorities": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "limit ranges": "/api/v1/limitranges",
}
_ENDS = {"jobs": ("Complete", "Failed"), JOBSET.resource: ("Completed", "Failed")}


@dataclass(frozen=True, slots=True)
class Rest:
    """What lists say now; each a list of objects."""

    lists: dict[str, list[dict[str, Any]]]

    def left(self) -> list[str]:
        """Managed work that has not finished."""
        jobs = [
            _key(each)
            for resource, ends in _ENDS.items()
            for each in self.lists[resource]
            if UNIT_LABEL not in each["metadata"].get("labels", {}) and not _has_condition(each, *ends)
        ]
        pods = [
            _key(pod)
            for pod in self.lists["pods"]
            if GROUP_LABEL in pod["metadata"].get("labels", {})
            and not pod["metadata"].get("ownerReferences")
            and pod["status"].get("phase") not in ("Succeeded", "Failed")
        ]
        return jobs + pods

    def surrounding(self) -> Surrounding:
        """Nodes and priorities, for the checker."""
        nodes = tuple(project_node(_raw(each)) for each in self.lists["nodes"])
        return Surrounding(nodes, Priorities.of(read_priority_class(each) for each in self.lists["priorities"]))


def look(control_plane: ControlPlane) -> Rest:
    """List everything, past all proxies. Raises OSError when the API server does not answer."""
    found = {}
    for name, path in PATHS.items():
        status, body = control_plane.rest.request("GET", path)
        if status == 404 and name == JOBSET.resource:
            body = {"items": []}
        elif status != 200:
            raise ConnectionError(f"GET {path} was answered with {status}")
        found[name] = body["items"]
    return Rest(found)


def judge(
    rest: Rest, wanted: Sequence[str], history: Sequence[Version], now: datetime, settings: QuotaSettings
) -> Iterator[Flaw]:
    """Yield what is lost or stuck. `wanted`: the names of all accepted workloads; the history shows who removed one.

    An evicted plain pod does not come back: its creator makes another one.
    """
    removed = {each.record.metadata.key: each for each in history if each.gone and isinstance(each.record, Submitted)}
    keys = {_key(each) for name in (*_ENDS, "pods") for each in rest.lists[name]}
    for name in wanted:
        if f"default/{name}" not in keys:
            last = removed.get(f"default/{name}")
            if last is not None and isinstance(last.record, Pod) and EVICTION in last.record.metadata.annotations:
                continue
            who = f"removed by {last.user}" if last else "nobody is known to have removed it"
            yield Flaw("Lost", f"default/{name}", last.revision if last else 0, f"was taken and is not there: {who}")
    for job in (each for name in _ENDS for each in rest.lists[name]):
        if _has_condition(job, "Failed"):
            yield Flaw("Lost", _key(job), 0, "has failed, though none of its pods was to fail")
    yield from still_counted(rest)
    left = rest.left()
    if left:
        decided = plan(measure(state_of(rest, settings).world(), now))
        would = {each.workload.key: "would be started" for each in decided.starts}
        would.update({each.workload.key: "would be evicted" for each in decided.evictions})
        for key in left:
            waiting = next((each.message for each in PendingReasons(decided) if each.workload.key == key), "it runs")
            yield Flaw("Stuck" if key in would else "Lost", key, 0, would.get(key, f"has not finished: {waiting}"))


def still_counted(rest: Rest) -> Iterator[Flaw]:
    """Groups whose status says that workloads are there or resources in use, when there are none."""
    if rest.left():
        return
    for group in rest.lists["groups"]:
        status = group.get("status", {})
        used = [f"{of} {name}" for each in status.get("quotas", ()) for name, of in each["used"].items() if of != "0"]
        counts = status.get("workloads", {})
        workloads = sum(int(counts.get(each) or 0) for each in ("pending", "admitted"))
        if used or workloads:
            text = f"all work has finished, and {workloads} workloads and {used or 'nothing'} in use are shown"
            yield Flaw("StillCounted", group["metadata"]["name"], 0, text)


def unseen(rest: Rest, history: Sequence[Version]) -> list[str]:
    """Jobs and JobSets whose last stored version is not in the history, which is then incomplete."""
    last = {version.uid: version.revision for version in history}
    return [
        _key(job)
        for job in (each for name in _ENDS for each in rest.lists[name])
        if last.get(job["metadata"]["uid"]) != int(job["metadata"]["resourceVersion"])
    ]


def state_of(rest: Rest, settings: QuotaSettings) -> ClusterState:
    """The state of a reconciler that knows nothing but the lists."""
    state = ClusterState(settings)
    state.observe_namespaces(_all(rest.lists["namespaces"], read_namespace))
    state.observe_limit_ranges(_all(rest.lists["limit ranges"], read_limit_range))
    state.observe_priority_classes(_all(rest.lists["priorities"], read_priority_class))
    state.observe_groups(_all(rest.lists["groups"], project_group))
    state.observe_nodes(_all(rest.lists["nodes"], project_node))
    state.observe_pods(_all(rest.lists["pods"], project_pod))
    state.observe_jobs(_all(rest.lists["jobs"], project_job))
    state.observe_kind_objects(_all(rest.lists[JOBSET.resource], project_kind(JOBSET)))
    return state


def _all(objects: Sequence[dict[str, Any]], project: Project[R]) -> list[Changed[R]]:
    records = [project(_raw(each)) for each in objects]
    return [Changed(None, record) for record in records if record is not None]


def _raw(found: dict[str, Any]) -> bytes:
    return msgspec.json.encode(found)


def _key(found: dict[str, Any]) -> str:
    return f"{found['metadata']['namespace']}/{found['metadata']['name']}"


def _has_condition(job: dict[str, Any], *kinds: str) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    return any(each["type"] in kinds and each["status"] == "True" for each in conditions)
