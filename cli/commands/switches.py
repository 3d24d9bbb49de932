"""`quotree hold`, `resume`, `close`, `open` and `drain`: the switches that people have, each one write by kubectl."""

import json
from collections.abc import Callable
from typing import Any, Final

import click

from cli.read.live import LiveCluster, live_options
from cli.read.names import complete, groups, workloads
from shared.api.names import HOLD_LABEL
from shared.problems import Problem

POLICIES: Final = {"close": "Close", "open": "None", "drain": "HoldAndDrain"}


def _workload_command(name: str, act: Callable[[LiveCluster, list[str]], str], text: str) -> click.Command:
    """A command on one workload, as NAMESPACE/NAME or KIND/NAMESPACE/NAME."""

    @live_options
    @click.command(name, help=text)
    @click.argument("workload", shell_complete=complete(workloads))
    @click.option("-n", "--namespace", default="default", show_default=True, help="Of a WORKLOAD without a namespace.")
    def switch(workload: str, namespace: str, where: LiveCluster) -> None:
        click.echo(act(where, _object(workload, namespace)))

    return switch


def _object(workload: str, namespace: str) -> list[str]:
    """The words by which kubectl finds it."""
    parts = workload.split("/")
    if len(parts) > 3 or not all(parts):
        raise Problem(f"{workload!r} is no workload; write NAMESPACE/NAME, or pod/NAMESPACE/NAME for a pod")
    *kind, place, name = (["job"] if len(parts) < 3 else []) + ([namespace] if len(parts) == 1 else []) + parts
    return [kind[0].lower(), name, f"--namespace={place}"]


def _hold(cluster: LiveCluster, which: list[str]) -> str:
    """A Job is also suspended: the label alone would not stop one that runs."""
    labels: dict[str, Any] = {"metadata": {"labels": {HOLD_LABEL: "true"}}}
    return _patch(cluster, which, labels | ({"spec": {"suspend": True}} if which[0] == "job" else {}))


def _resume(cluster: LiveCluster, which: list[str]) -> str:
    """Take the hold away; one that was not held is held for a moment, which resumes what was deactivated."""
    _hold(cluster, which)
    return _patch(cluster, which, {"metadata": {"labels": {HOLD_LABEL: None}}})


def _patch(cluster: LiveCluster, which: list[str], patch: dict[str, Any]) -> str:
    return cluster.change("patch", *which, "--type=merge", f"--patch={json.dumps(patch)}")


def _group_command(name: str, text: str) -> click.Command:
    """A command that sets the stopPolicy of one group."""

    @live_options
    @click.command(name, help=text)
    @click.argument("group", shell_complete=complete(groups))
    def switch(group: str, where: LiveCluster) -> None:
        patch = {"spec": {"stopPolicy": POLICIES[name]}}
        click.echo(_patch(where, ["quotagroup.quotree.dev", group], patch))

    return switch


hold = _workload_command(
    "hold", _hold, "Let WORKLOAD wait, and stop it if it runs, until it is resumed (the label quotree.dev/hold)."
)
resume = _workload_command(
    "resume", _resume, "Let WORKLOAD be considered again: it was held, or deactivated after failed starts."
)
close = _group_command("close", "Refuse new workloads in GROUP and below it (stopPolicy Close); what is there goes on.")
open_ = _group_command("open", "Take away the stopPolicy of GROUP. Groups below it keep their own.")
drain = _group_command("drain", "Stop every workload in GROUP and below it, and start none (stopPolicy HoldAndDrain).")
