"""What `check` says of the result of a conversion, and which of its workloads would not start.

The simulation has the nodes that are in the files. Without any, it has nodes enough, so that only quota binds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from cli.read.findings import counted, find, warn_whole
from cli.read.manifests import Manifest, manifests_in
from cli.read.objects import READ_KINDS, ManifestObjects, sort_objects
from cli.read.questions import Question
from cli.read.workloads import SubmittedWorkloads, read_workloads
from cli.read.world import nodes_in
from shared.api.names import API_VERSION
from shared.process.cluster_settings import quota_settings
from shared.quota.decide.decisions import WaitReason
from shared.quota.model.flavor import nodes_taken_by
from shared.quota.model.rules import Findings
from shared.quota.model.settings import QuotaSettings, WorkloadPriority
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate import run as simulate
from shared.resources import Amount

RESULT: Final = "result"
"""What messages say in place of a file's name."""
_WORKLOADS: Final = frozenset({("batch/v1", "Job"), ("v1", "Pod")})
_WAITS_FOR_OTHERS: Final = frozenset(
    {
        WaitReason.WAITING_FOR_QUOTA,
        WaitReason.WAITING_FOR_EVICTIONS,
        WaitReason.ROOM_DELAYED,
        WaitReason.ROOM_KEPT_FOR_OTHERS,
        WaitReason.BEHIND_HEAD,
    }
)
"""Reasons that another workload of the same files explains, in any system."""
_ENOUGH: Final[Amount] = 2**60


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong with the result; `never`: why workloads would not start, whatever the others do."""

    findings: Findings
    never: tuple[str, ...]
    workloads: int
    starting: int
    has_nodes: bool

    def lines(self) -> Iterator[str]:
        """Yield what a person reads: violations, warnings, workloads that would not start, and a summary."""
        for violation in self.findings.violations:
            yield f"{RESULT}: {violation.text}"
        for warning in self.findings.warnings:
            yield f"{RESULT}: warning: {warning.text}"
        for message in self.never:
            yield f"{RESULT}: {message}"
        counts = f"{counted(self.findings.violations, 'violation')}, {counted(self.findings.warnings, 'warning')}"
        nodes = "the nodes in the files" if self.has_nodes else "nodes enough"
        started = f"; {self.starting} of {self.workloads} workloads start in a simulation with {nodes}"
        yield f"{RESULT}: {counts}{started if self.workloads else ''}"


def judge(
    documents: Sequence[Mapping[str, Any]], sources: Sequence[Manifest], priorities: Iterable[Mapping[str, Any]]
) -> Judgement:
    """Judge the objects made, beside what the sources say of the cluster: nodes, namespaces and the like.

    `priorities`: those that the chart's values have to name, and are taken to name.
    """
    named = {each["name"]: WorkloadPriority(each["value"]) for each in priorities}
    settings = replace(quota_settings(None), workload_priorities=named)
    cluster = [each for each in sources if _is_of_cluster(each)]
    objects = sort_objects([*cluster, *manifests_in(documents, RESULT)], later_wins=True)
    workloads = read_workloads(objects, settings)
    now = datetime.now(UTC)
    findings = find(objects, workloads, settings, None, nodes_in(objects, settings), now=now)
    findings += warn_whole(objects, settings)
    never = list(_simulate(objects, workloads, settings))
    starting = len(workloads.workloads) - sum(1 for reason, _ in never if reason)
    return Judgement(
        findings, tuple(text for _, text in never if text), len(workloads.workloads), starting, bool(objects.nodes)
    )


def _is_of_cluster(manifest: Manifest) -> bool:
    kind = (manifest.api_version, manifest.kind)
    return kind in READ_KINDS and kind not in _WORKLOADS and manifest.api_version != API_VERSION


def _simulate(
    objects: ManifestObjects, workloads: SubmittedWorkloads, settings: QuotaSettings
) -> Iterator[tuple[WaitReason, str]]:
    """Yield (reason, message) of what does not start; no message where it waits for other workloads of the files."""
    if not objects.nodes:
        settings = replace(settings, capacity=tuple(_enough(objects)))
    now = datetime.now(UTC)
    outcome = simulate.run(Question(objects, workloads, settings).world_at(now), now)
    for waiting in PendingReasons(outcome.last):
        text = "" if waiting.reason in _WAITS_FOR_OTHERS else f"{waiting.message} ({waiting.reason.value})"
        yield waiting.reason, text


def _enough(objects: ManifestObjects) -> Iterator[tuple[str, str, Amount]]:
    """Yield an ample capacity for every key of a group, but for flavors whose nodes all count for another one."""
    taken = nodes_taken_by(objects.flavors)
    keys = {(entry.flavor, each) for group in objects.groups for entry in group.quotas for each in entry.covered}
    yield from ((flavor, resource, 0 if flavor in taken else _ENOUGH) for flavor, resource in sorted(keys))
