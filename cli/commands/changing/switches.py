"""`quotree hold`, `resume`, `close`, `open` and `drain`: the users' switches, each one write by kubectl."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import click

from cli.read.cluster.live import LiveCluster, NotInCluster, UnknownToCluster, live_options
from cli.read.cluster.names import complete, complete_workloads, groups, unknown_group
from cli.read.cluster.targets import WorkloadTarget, hold_it, parts_of, resume_it, targets_of
from cli.read.options import namespace_option
from shared.problems import Problem

POLICIES: Final = {"close": "Close", "open": "None", "drain": "HoldAndDrain"}


def _workload_command(name: str, act: Callable[[LiveCluster, WorkloadTarget], str], text: str) -> click.Command:
    """Return a command on one workload, as NAMESPACE/NAME or KIND/NAMESPACE/NAME."""

    @live_options
    @namespace_option
    @click.command(name, help=text)
    @click.argument("workload", shell_complete=complete_workloads)
    def switch(workload: str, namespace: str | None, cluster: LiveCluster) -> None:
        kind, key = parts_of(workload, cluster, namespace)
        place, _, own = key.partition("/")
        for target in targets_of(cluster, kind, place, own):
            with suppress(NotInCluster, UnknownToCluster):
                click.echo(act(cluster, target))
                return
        what = kind or "Job, object of a governed kind, pod or pod group"
        raise Problem(f"there is no {what} {own!r} in namespace {place!r}")

    return switch


def _group_command(name: str, text: str) -> click.Command:
    """Return a command that sets the stopPolicy of one group."""

    @live_options
    @click.command(name, help=text)
    @click.argument("group", shell_complete=complete(groups))
    def switch(group: str, cluster: LiveCluster) -> None:
        patch = {"spec": {"stopPolicy": POLICIES[name]}}
        try:
            words = ("quotagroup.quotree.dev", group, "--type=merge", f"--patch={json.dumps(patch)}")
            click.echo(cluster.change("patch", *words))
        except NotInCluster as problem:
            raise unknown_group(group) from problem

    return switch


hold = _workload_command(
    "hold", hold_it, "Make WORKLOAD wait, and stop it if it runs, until it is resumed (the label quotree.dev/hold)."
)
resume = _workload_command(
    "resume",
    resume_it,
    "Let WORKLOAD start again that was held, or deactivated: starts failed, its run time is over.",
)
close = _group_command(
    "close", "Refuse new workloads in GROUP and below it (stopPolicy Close); those that exist start and run as before."
)
open_ = _group_command("open", "Remove the stopPolicy of GROUP. Groups below it keep their own.")
drain = _group_command("drain", "Stop every workload in GROUP and below it, and start none (stopPolicy HoldAndDrain).")
