"""`quotree evict`: stop a running workload, so that what waits gets its room, and let it wait again."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import click
import msgspec

from cli.read.cluster.live import LiveCluster, NotAllowed, live_options
from cli.read.cluster.names import complete_workloads
from cli.read.cluster.targets import WorkloadTarget, hold_it, let_go, targets_of
from cli.read.options import namespace_option
from cli.read.questions import ask_leader, find_workload, manifests_of, parse_workload, read_question, read_settings
from shared.api.durations import later, read_duration
from shared.api.names import UNIT_LABEL
from shared.problems import Problem
from shared.quota.model.workload import Workload, namespace_of
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.simulate.what_if import prediction_as_data
from shared.text.quantities import readable
from shared.text.times import moment_text

_POLL: Final = 1.0
_LONGEST: Final = timedelta(minutes=10)
"""How long the end of its pods is awaited."""
_TO_START: Final = 3.0
"""Seconds in which others start in its room before it waits again."""
_KINDS: Final = "a Job or an object of a governed kind; delete a pod instead"


class _Status(msgspec.Struct):
    active: int = 0
    terminating: int = 0


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


@live_options
@namespace_option
@click.command("evict")
@click.argument("workload", shell_complete=complete_workloads)
@click.option("--notice", metavar="DURATION", help="How long it runs on.  [default: the notice of its group]")
@click.option("--dry-run", is_flag=True, help="Say what would stop and what would start, and change nothing.")
def command(workload: str, namespace: str | None, notice: str | None, dry_run: bool, cluster: LiveCluster) -> None:
    """Stop WORKLOAD (NAMESPACE/NAME), which runs, and let it wait again behind what starts in its room.

    Its group's `reclaim.notice` is kept: the command waits so long, and an interrupt takes the eviction back. Then it
    is held until its pods have ended, and let go. That needs the right to patch it (the ClusterRole `edit`), and to
    list the cluster (`quotree-cluster-view`), except with --notice and without --dry-run.
    """
    namespace = namespace or cluster.namespace
    wait = _given(notice)
    if wait is None or dry_run:
        outlook = _outlook(cluster)
        found = find_workload(outlook.given.world, workload, namespace)
        wait = _notice_of(outlook, found) if wait is None else wait
        click.echo("\n".join(_told(found, wait)))
        if dry_run:
            click.echo("\n".join(_starts(outlook, found)))
            return
    target = _target(cluster, workload, namespace)
    if wait:
        click.echo(
            f"it is stopped at {moment_text(later(datetime.now(UTC), wait).isoformat())}; interrupt to take it back"
        )
        time.sleep(wait.total_seconds())
    try:
        click.echo(hold_it(cluster, target))
        _wait_for_its_pods(cluster, target)
        time.sleep(_TO_START)
        click.echo(let_go(cluster, target))
    except KeyboardInterrupt:
        raise Problem(f"{target.key} is held; `quotree resume {target.key}` lets it wait for quota again") from None


def _given(notice: str | None) -> timedelta | None:
    if notice is None:
        return None
    found: timedelta | None = read_duration(notice)
    if found is None:
        raise Problem(f"--notice {notice!r} is not a duration; write for example 0s, 30s or 5m")
    return found


def _outlook(cluster: LiveCluster) -> Outlook:
    try:
        manifests = manifests_of((), cluster)
    except NotAllowed as problem:
        raise Problem(f"{problem}; with --notice 0s it is evicted without looking at the cluster") from problem
    settings = read_settings(None, (), cluster)
    question = read_question(manifests, settings, leader=ask_leader(cluster, settings))
    return question.outlook_at(datetime.now(UTC))


def _notice_of(outlook: Outlook, workload: Workload) -> timedelta:
    """Return the notice of its group. Raises Problem for a workload that does not run."""
    if workload.admission is None or workload.is_evicting:
        raise Problem(f"{workload.kind} {workload.key!r} does not run; there is nothing to evict")
    leaf = outlook.given.leaves.get(workload.group)
    return leaf.reclaim.notice if leaf is not None else timedelta()


def _told(workload: Workload, notice: timedelta) -> list[str]:
    amounts = ", ".join(f"{readable(name, amount)} {name}" for name, amount in sorted(workload.request.items()))
    after = f" after a notice of {int(notice.total_seconds())}s" if notice else ""
    return [f"{workload.kind} {workload.key!r} of group {workload.group} is stopped{after}: it uses {amounts}"]


def _starts(outlook: Outlook, workload: Workload) -> list[str]:
    """Return what would start while the workload is away."""
    held = replace(workload, admission=None, hold=True)
    predicted = prediction_as_data(outlook.prediction(outlook.given.world.with_changes([(workload, held)])))
    return [f"{each['workload']} of group {each['group']} would start" for each in predicted["start"]] or [
        "nothing that waits would start"
    ]


def _target(cluster: LiveCluster, workload: str, namespace: str) -> WorkloadTarget:
    kind, key = parse_workload(workload, namespace)
    for target in targets_of(cluster, kind.lower(), namespace_of(key), key.partition("/")[2]):
        if target.flag and target.read(cluster) is not None:
            return target
    raise Problem(f"{key!r} is not {_KINDS}")


def _wait_for_its_pods(cluster: LiveCluster, target: WorkloadTarget) -> None:
    deadline = time.monotonic() + _LONGEST.total_seconds()
    while _has_pods(cluster, target):
        if time.monotonic() > deadline:
            raise Problem(
                f"the pods of {target.key} have not ended within 10m; it is held: `quotree resume {target.key}`"
            )
        time.sleep(_POLL)


def _has_pods(cluster: LiveCluster, target: WorkloadTarget) -> bool:
    raw = target.read(cluster)
    if raw is None:
        return False
    seen = msgspec.json.decode(raw, type=_Object)
    if target.is_job:
        return bool(seen.status.active or seen.status.terminating)
    label = f"{UNIT_LABEL}%3D{seen.metadata.uid}".replace("/", "%2F")
    return bool(cluster.items(f"/api/v1/namespaces/{target.namespace}/pods?labelSelector={label}"))
