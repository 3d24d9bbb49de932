"""The object that a workload's name means, and the writes that hold it and let it go."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cli.read.cluster.live import LiveCluster, NotInCluster, UnknownToCluster
from cli.read.cluster.settings import live_settings
from shared.api.names import HOLD_LABEL, POD_GROUP_LABEL
from shared.kinds.presets import all_presets
from shared.problems import Problem

JOB, POD, POD_GROUP = "job", "pod", "podgroup"


@dataclass(frozen=True, slots=True)
class WorkloadTarget:
    """The workload that a name means: kubectl's name of its kind, its own, and the path of the flag that stops it.

    `resource` POD_GROUP: the pods that bear its name.
    """

    resource: str
    namespace: str
    name: str
    flag: Sequence[str | int] = ()

    @property
    def key(self) -> str:
        """As KIND/NAMESPACE/NAME; a Job as NAMESPACE/NAME."""
        kind = "" if self.is_job else f"{self.resource.partition('.')[0]}/"
        return f"{kind}{self.namespace}/{self.name}"

    @property
    def is_job(self) -> bool:
        """Whether it is a Job."""
        return self.resource == JOB

    def read(self, cluster: LiveCluster) -> bytes | None:
        """Return the object as JSON; None where it is not there."""
        try:
            return cluster.change("get", self.resource, self.name, "--namespace", self.namespace, "-o", "json").encode()
        except (NotInCluster, UnknownToCluster):
            return None

    def change(self, cluster: LiveCluster, patch: dict[str, Any]) -> str:
        """Patch the workload. Raises NotInCluster."""
        if self.resource != POD_GROUP:
            words = (self.resource, self.name, "--namespace", self.namespace)
            return cluster.change("patch", *words, "--type=merge", f"--patch={json.dumps(patch)}")
        text = patch["metadata"]["labels"][HOLD_LABEL]
        label = f"{HOLD_LABEL}-" if text is None else f"{HOLD_LABEL}={text}"
        words = ("pods", "--namespace", self.namespace, f"--selector={POD_GROUP_LABEL}={self.name}")
        said = cluster.change("label", *words, label, "--overwrite")
        if not said or said.startswith("No resources found"):
            raise NotInCluster(f"no pod of namespace {self.namespace!r} is in a pod group {self.name!r}")
        return said


def parts_of(workload: str, cluster: LiveCluster, namespace: str | None) -> tuple[str, str]:
    """Return (kind or "", namespace/name)."""
    parts = workload.split("/")
    if len(parts) > 3 or not all(parts):
        raise Problem(f"{workload!r} is no workload; write NAMESPACE/NAME, or KIND/NAMESPACE/NAME")
    if len(parts) == 1:
        parts = [namespace or cluster.namespace, *parts]
    return (parts[0].lower() if len(parts) == 3 else ""), "/".join(parts[-2:])


def targets_of(cluster: LiveCluster, kind: str, namespace: str, name: str) -> Iterator[WorkloadTarget]:
    """Yield what the name can mean: of the kind that is given, else a Job first, then other kinds."""
    if kind in ("", JOB):
        yield WorkloadTarget(JOB, namespace, name, ("spec", "suspend"))
    if kind not in (JOB, POD, POD_GROUP):
        known = {each.kind: each for each in (*all_presets().suspended, *live_settings(cluster).kinds.suspended)}
        governed = [each for each in known.values() if kind in ("", each.kind.lower(), each.resource)]
        yield from (WorkloadTarget(f"{each.resource}.{each.group}", namespace, name, each.suspend) for each in governed)
        if kind and not governed:
            yield WorkloadTarget(kind, namespace, name)
    if kind in ("", POD):
        yield WorkloadTarget(POD, namespace, name)
    if kind in ("", POD_GROUP):
        yield WorkloadTarget(POD_GROUP, namespace, name)


def hold_it(cluster: LiveCluster, target: WorkloadTarget) -> str:
    """Set the label, and suspend a Job or an object of a governed kind: the label alone does not stop a running one."""
    value: Any = True
    for member in reversed(target.flag):
        value = {member: value}
    labels: dict[str, Any] = {"metadata": {"labels": {HOLD_LABEL: "true"}}}
    return target.change(cluster, labels | (value if target.flag else {}))


def resume_it(cluster: LiveCluster, target: WorkloadTarget) -> str:
    """Remove the hold; an object without one is held for a moment, which resumes a deactivated one."""
    hold_it(cluster, target)
    return let_go(cluster, target)


def let_go(cluster: LiveCluster, target: WorkloadTarget) -> str:
    """Remove the hold."""
    return target.change(cluster, {"metadata": {"labels": {HOLD_LABEL: None}}})
