"""`quotree try`: would this workload start now, behind what would it wait, and what of it would start."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Final

import click

from cli.read.cluster.live import LiveCluster, Refused, live_options
from cli.read.cluster.visibility import read_previews, served_or_computed
from cli.read.findings import find, finding_key
from cli.read.manifests import CLUSTER, Manifest, manifests_in, read_manifests
from cli.read.options import namespace_option, read_moment
from cli.read.questions import (
    Leader,
    Question,
    ask_leader,
    manifests_of,
    question_options,
    read_question,
    read_settings,
)
from cli.render.data import output_option, print_data
from shared.json_data import Json
from shared.kinds.kind import Kinds
from shared.process.cluster_settings import known_kinds
from shared.quota.measure.snapshot import measure
from shared.quota.model.rules import Findings
from shared.quota.model.settings import QuotaSettings
from shared.quota.outlook.preview import previews, submitted
from shared.text.what_if import NOT_MANAGED, preview_lines

STARTS, WAITS = 0, 4
_WARNING: Final = "Warning: "


@live_options
@question_options
@namespace_option
@click.command("try")
@click.option(
    "-f", "--filename", "tried", multiple=True, required=True, type=click.Path(), help="The workload to submit."
)
@click.option("--from", "files", multiple=True, type=click.Path(), help="A file or folder instead of the cluster.")
@output_option("text")
def command(
    tried: tuple[str, ...], files: tuple[str, ...], namespace: str | None, output: str, at: str | None,
    settings_file: str | None, capacity: tuple[str, ...], cluster: LiveCluster,
) -> None:  # fmt: skip
    """Say whether the workloads in the given files would start if they were submitted now; nothing is submitted.

    The cluster judges them as in `kubectl create --dry-run=server`, with your own rights: you need those to create
    them. Then the visibility API says whether they would start, where it is served; otherwise the answer is computed
    from the cluster. What its owner could write for a workload to start has been tried in the engine.

    Exit code 0 when all would start now, 1 when one is refused, 2 when something cannot be read, 4 when one would wait.
    """
    with _told_in_data(output):
        if files or at or settings_file or capacity:
            found, warnings = _offline(tried, files, cluster, at, settings_file, capacity)
        else:
            found, warnings = _live(cluster, tried, namespace or cluster.namespace)
    if output == "text":
        lines = [*preview_lines(found)] or [f"this {NOT_MANAGED}"]
        click.echo("\n".join(lines))
        for each in (each for each in warnings if each not in lines):
            click.echo(f"{_WARNING}{each}", err=True)
    else:
        print_data({"workloads": found, "warnings": warnings, "refused": []}, output)
    sys.exit(STARTS if all(each["starts"] == "Now" for each in found) else WAITS)


@contextmanager
def _told_in_data(output: str) -> Iterator[None]:
    """Print a refusal as data, too, where data are asked for; the problem itself goes on."""
    try:
        yield
    except Refused as problem:
        if output != "text":
            print_data({"workloads": [], "warnings": [], "refused": problem.refusals}, output)
        raise


def _live(cluster: LiveCluster, tried: Sequence[str], namespace: str) -> tuple[list[Json], list[str]]:
    """Return the previews, and what else the dry run warns of."""
    objects, text = cluster.dry_run([each.body for each in read_manifests(tried)], namespace)
    by_namespace: dict[str, list[Json]] = {}
    for each in objects:
        by_namespace.setdefault(str(each["metadata"].get("namespace", namespace)), []).append(each)
    found: list[Json] = []
    for place, own in by_namespace.items():
        found += served_or_computed(
            cluster, partial(read_previews, cluster, place, own), partial(_of_cluster, cluster, own)
        )
    return found, [line.removeprefix(_WARNING) for line in text.splitlines() if line.startswith(_WARNING)]


def _of_cluster(cluster: LiveCluster, objects: Sequence[Json]) -> list[Json]:
    settings = read_settings(None, (), cluster)
    leader = ask_leader(cluster, settings)
    questions = _questions(manifests_of((), cluster), manifests_in(objects, CLUSTER), settings, None, leader)
    return _previewed(*questions, read_moment(None))


def _questions(
    base: Sequence[Manifest],
    new: Sequence[Manifest],
    settings: QuotaSettings,
    kinds: Kinds | None,
    leader: Leader,
) -> tuple[Question, Question]:
    """Return the world as it is, and with the new workloads."""
    before = read_question(base, settings, kinds=kinds, leader=leader)
    return before, read_question([*base, *new], settings, kinds=kinds, leader=leader)


def _previewed(before: Question, after: Question, now: datetime) -> list[Json]:
    outlook = after.outlook_at(now)
    return previews(outlook, submitted(before.world_at(now), outlook.given.world))


def _offline(
    tried: Sequence[str], files: Sequence[str], cluster: LiveCluster, at: str | None, settings_file: str | None,
    capacity: Sequence[str],
) -> tuple[list[Json], list[str]]:  # fmt: skip
    """Judge the workloads by the rules, as the admission webhook would, and preview them."""
    source = None if files else cluster
    settings, now = read_settings(settings_file, capacity, source), read_moment(at)
    questions = _questions(
        manifests_of(files, source),
        read_manifests(tried),
        settings,
        known_kinds(settings_file),
        ask_leader(source, settings),
    )
    known, found = (_findings(each, now) for each in questions)
    keys = {finding_key(each) for each in (*known.violations, *known.warnings)}
    refused = [each for each in found.violations if finding_key(each) not in keys]
    warned = [each for each in found.warnings if finding_key(each) not in keys]
    if refused:
        raise Refused([{**each.as_data(), "message": each.text} for each in refused])
    return _previewed(*questions, now), [f"{each.object} {each.field}: {each.message}" for each in warned]


def _findings(question: Question, now: datetime) -> Findings:
    snapshot = measure(question.world_at(now), now)
    objects, workloads = question.objects, question.workloads
    return find(objects, workloads, question.settings, snapshot.capacity, snapshot.largest_nodes, now=now)
