"""`quotree hold`, `resume`, `close`, `open` and `drain`: the users' switches, each one write by kubectl."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from cli.read.live import LiveCluster, NotInCluster, live_options
from cli.read.names import complete, complete_workloads, groups, unknown_group
from cli.read.options import namespace_option
from cli.read.settings import live_settings
from shared.api.names import HOLD_LABEL
from shared.kinds.presets import all_presets
from shared.problems import Problem

POLICIES: Final = {"close": "Close", "open": "None", "drain": "HoldAndDrain"}


JOB: Final = "job"
_FLAGS: Final = {JOB: ("spec", "suspend"), "pod": (), "podgroup": ()}
"""Kind -> the path of the flag that stops a running workload; kinds that are governed have their own."""


def _workload_command(name: str, act: Callable[[LiveCluster, list[str]], str], text: str) -> click.Command:
    """Return a command on one workload, as NAMESPACE/NAME or KIND/NAMESPACE/NAME."""

    @live_options
    @namespace_option
    @click.command(name, help=text)
    @click.argument("workload", shell_complete=complete_workloads)
    def switch(workload: str, namespace: str | None, cluster: LiveCluster) -> None:
        which = _object(workload, cluster, namespace)
        try:
            click.echo(act(cluster, which))
        except NotInCluster as problem:
            raise Problem(f"there is no {which[0]} {which[1]!r} in namespace {which[3]!r}") from problem

    return switch


def _object(workload: str, cluster: LiveCluster, namespace: str | None) -> list[str]:
    """Return the arguments by which kubectl finds it: its kind, its name, and its namespace."""
    parts = workload.split("/")
    if len(parts) > 3 or not all(parts):
        raise Problem(f"{workload!r} is no workload; write NAMESPACE/NAME of a Job, or KIND/NAMESPACE/NAME")
    if len(parts) == 1:
        parts = [namespace or cluster.namespace, *parts]
    *kind, place, name = ([JOB] if len(parts) < 3 else []) + parts
    return [kind[0].lower(), name, "--namespace", place]


def _hold(cluster: LiveCluster, which: list[str]) -> str:
    """Set the label, and suspend a Job or an object of a governed kind: the label alone does not stop a running one."""
    labels: dict[str, Any] = {"metadata": {"labels": {HOLD_LABEL: "true"}}}
    resource, flag = _resource_and_flag(cluster, which[0])
    value: Any = True
    for member in reversed(flag):
        value = {member: value}
    return _patch(cluster, [resource, *which[1:]], labels | (value if flag else {}))


def _resource_and_flag(cluster: LiveCluster, kind: str) -> tuple[str, Sequence[str | int]]:
    """kubectl's name of the kind, and the path of its suspend flag; an ungoverned kind has none."""
    if kind in _FLAGS:
        return kind, _FLAGS[kind]
    governed = (*live_settings(cluster).kinds.suspended, *all_presets().suspended)
    found = next((each for each in governed if kind in (each.kind.lower(), each.resource)), None)
    return (kind, ()) if found is None else (f"{found.resource}.{found.group}", found.suspend)


def _resume(cluster: LiveCluster, which: list[str]) -> str:
    """Remove the hold; an object without one is held for a moment, which resumes a deactivated one."""
    _hold(cluster, which)
    resource, _ = _resource_and_flag(cluster, which[0])
    return _patch(cluster, [resource, *which[1:]], {"metadata": {"labels": {HOLD_LABEL: None}}})


def _patch(cluster: LiveCluster, which: list[str], patch: dict[str, Any]) -> str:
    return cluster.change("patch", *which, "--type=merge", f"--patch={json.dumps(patch)}")


def _group_command(name: str, text: str) -> click.Command:
    """Return a command that sets the stopPolicy of one group."""

    @live_options
    @click.command(name, help=text)
    @click.argument("group", shell_complete=complete(groups))
    def switch(group: str, cluster: LiveCluster) -> None:
        patch = {"spec": {"stopPolicy": POLICIES[name]}}
        try:
            click.echo(_patch(cluster, ["quotagroup.quotree.dev", group], patch))
        except NotInCluster as problem:
            raise unknown_group(group) from problem

    return switch


hold = _workload_command(
    "hold", _hold, "Make WORKLOAD wait, and stop it if it runs, until it is resumed (the label quotree.dev/hold)."
)
resume = _workload_command(
    "resume", _resume, "Let WORKLOAD start again that was held, or deactivated after failed starts."
)
close = _group_command(
    "close", "Refuse new workloads in GROUP and below it (stopPolicy Close); those that exist start and run as before."
)
open_ = _group_command("open", "Remove the stopPolicy of GROUP. Groups below it keep their own.")
drain = _group_command("drain", "Stop every workload in GROUP and below it, and start none (stopPolicy HoldAndDrain).")
