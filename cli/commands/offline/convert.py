"""`quotree convert`: the quota of other systems as Quotree's objects."""

import sys
from collections.abc import Sequence
from typing import Literal

import click
import yaml

from cli.convert.conversion import Conversion
from cli.convert.judgement import judge
from cli.convert.kai import convert_kai
from cli.convert.koordinator.elastic_quotas import convert_elastic_quotas
from cli.convert.kueue.queues import convert_kueue
from cli.convert.kueue.running import workloads_of_running
from cli.convert.resource_quota import convert_resource_quotas
from cli.convert.runai import convert_runai, read_runai
from cli.convert.slurm.accounts import convert_slurm
from cli.convert.slurm.records import read_slurm
from cli.convert.volcano.queues import convert_queues
from cli.convert.yunikorn import convert_yunikorn, read_yunikorn
from cli.read.manifests import read_manifests
from cli.read.options import file_arguments
from cli.render.data import print_data
from shared.problems import Problem

CARRIED_OVER, DIFFERS, ILLEGAL = 0, 1, 1


@click.command("convert")
@click.option("--strict", is_flag=True, help="End with exit code 1 when something could not be carried over.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "values", "kueue-workloads"]),
    default="yaml",
    show_default=True,
    help="values: the chart's values that go with the objects. kueue-workloads: the way back, Workloads by which Kueue "
    "takes over the Jobs in FILES that Quotree runs.",
)
@file_arguments
def command(files: tuple[str, ...], strict: bool, output: Literal["yaml", "json", "values", "kueue-workloads"]) -> None:
    """Print the quota objects in FILES (files, folders, or - for standard input) as objects of Quotree.

    Reads ResourceFlavors, Cohorts, ClusterQueues, LocalQueues, WorkloadPriorityClasses and labelled workloads of Kueue,
    ElasticQuotas of Koordinator and scheduler-plugins, Queues of Volcano and KAI, the ConfigMap of YuniKorn or the
    queues.yaml in it, ResourceQuotas, departments and projects as Run:ai's API lists them, and what Slurm's sacctmgr
    prints (`dump`, and `show assoc` and `show qos` with --parsable2) and its `scontrol show partition` and `show node`.
    What cannot be carried over, and what behaves differently, is listed on standard error, with file and line; then
    what `quotree check` says of the result, and which of its workloads would not start. Exit code 1 when the result is
    not legal, 2 when a file cannot be read, when one object is written twice, or when there is nothing to convert.
    """
    slurm, others = read_slurm(files)
    runai, others = read_runai(others)
    queues, others = read_yunikorn(others)
    manifests = [*queues, *read_manifests(others)]
    made = Conversion()
    if output == "kueue-workloads":
        _print(workloads_of_running(manifests, made), made)
        sys.exit(DIFFERS if strict and made.notes else CARRIED_OVER)
    made.read_namespaces(manifests)
    convert_kueue(manifests, made)
    convert_elastic_quotas(manifests, made)
    convert_queues(manifests, made)
    convert_kai(manifests, made)
    convert_yunikorn(manifests, made)
    convert_slurm(slurm, made)
    convert_runai(runai, made)
    convert_resource_quotas(manifests, made)
    documents = made.documents()
    if not (documents or made.notes):
        raise Problem(f"there is nothing to convert in {', '.join(files)}: no quota object of another system")
    if output == "json":
        print_data({"apiVersion": "v1", "kind": "List", "items": documents}, "json")
        _print((), made)
    else:
        _print([made.values()] if output == "values" else documents, made)
    judgement = judge(documents, manifests, made.priorities)
    for line in judgement.lines():
        click.echo(line, err=True)
    if judgement.findings.violations:
        sys.exit(ILLEGAL)
    sys.exit(DIFFERS if strict and made.notes else CARRIED_OVER)


def _print(documents: Sequence[object], made: Conversion) -> None:
    """Print documents as YAML, then the notes on standard error."""
    if documents:
        click.echo(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True), nl=False)
    for note in made.notes:
        click.echo(str(note), err=True)


class _Dumper(yaml.SafeDumper):
    """Writes no anchors: a value that two objects share is written twice."""

    def ignore_aliases(self, data: object) -> bool:
        return True
