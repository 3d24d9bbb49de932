"""Who lacks the right to list the cluster is message what is missing, and the chart has a role for it."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cli.commands import explain, history, pending
from cli.commands.ahead import what_if
from cli.commands.offline import kinds
from cli.read.cluster.live_objects import CLUSTER_ROLE
from dev.controlplane.cluster import ControlPlane
from shared.problems import Problem
from tests.charts.rendering import find_object, render
from tests.cli.live.live_kinds import install_kinds
from tests.polling import pause_after

EDIT = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: asked}
spec: {quotas: [{min: {cpu: 1}}]}
"""
ALL = (
    "quotagroups.quotree.dev, resourceflavors.quotree.dev, nodes, namespaces, limitranges, "
    "priorityclasses.scheduling.k8s.io, runtimeclasses.node.k8s.io, jobs.batch, pods"
)


def _ask(control_plane: ControlPlane, folder: Path, user: str) -> Result:
    file = folder / "edit.yaml"
    file.write_text(EDIT)
    environment = {"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"}
    words = ["--kubeconfig", str(control_plane.kubeconfig), "--as", user, "-f", str(file)]
    return CliRunner(env=environment).invoke(what_if.command, words)


def _bind(control_plane: ControlPlane, role: str, user: str) -> None:
    control_plane.kubectl("create", "clusterrolebinding", f"{role}-{user}", f"--clusterrole={role}", f"--user={user}")


def _asked_until(control_plane: ControlPlane, folder: Path, user: str, wanted: Callable[[Result], bool]) -> Result:
    """Ask until the API server has noticed the binding."""
    begun = time.monotonic()
    while not wanted(answer := _ask(control_plane, folder, user)):
        passed = time.monotonic() - begun
        assert passed < 240, answer.output or answer.exception
        time.sleep(pause_after(passed))
    return answer


def test_every_missing_right_is_named_with_the_role_that_has_it(control_plane: ControlPlane, tmp_path: Path) -> None:
    install_kinds(control_plane)
    problem = _ask(control_plane, tmp_path, "nobody").exception
    assert isinstance(problem, Problem)
    assert str(problem).startswith(
        f"the answer depends on the whole cluster, and you cannot list {ALL}; "
        "a ClusterRoleBinding to the ClusterRole quotree-cluster-view allows it; `kubectl apply --dry-run=server -f` "
    )
    _bind(control_plane, "view", "viewer")
    answer = _asked_until(control_plane, tmp_path, "viewer", lambda each: "pods" not in str(each.exception))
    assert "you cannot list quotagroups.quotree.dev, resourceflavors.quotree.dev, nodes, " in str(answer.exception)


def _refused(control_plane: ControlPlane, command: click.Command, *words: str, user: str = "nobody") -> str:
    environment = {"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"}
    flags = ["--kubeconfig", str(control_plane.kubeconfig), "--as", user]
    answer = CliRunner(env=environment).invoke(command, [*words, *flags])
    return answer.stderr if answer.exception is None else str(answer.exception)


@pytest.mark.parametrize(
    ("command", "words"), [(explain.command, ["ns/a"]), (pending.command, []), (pending.command, ["-n", "ns"])]
)
def test_visibility_api_that_is_off_is_not_called_forbidden(
    control_plane: ControlPlane, command: click.Command, words: list[str]
) -> None:
    install_kinds(control_plane)
    message = _refused(control_plane, command, *words)
    assert message.startswith(f"the answer depends on the whole cluster, and you cannot list {ALL}; ")
    assert message.endswith(
        "the visibility API, where it is on, needs none of this; a workload's events say why it waits, too"
    )


def test_commands_name_the_option_or_the_part_that_is_missing(control_plane: ControlPlane) -> None:
    message = _refused(control_plane, history.command)
    assert message.endswith("; -n NAMESPACE lists what was stopped in one namespace")
    message = _refused(control_plane, kinds.command)
    assert message == "quotree: the cluster's settings cannot be read; kinds that they name are missing\n"


def test_role_of_the_chart_allows_what_the_commands_read(control_plane: ControlPlane, tmp_path: Path) -> None:
    install_kinds(control_plane)
    role = find_object(render(control_plane.binaries), "ClusterRole", CLUSTER_ROLE)
    control_plane.apply(json.dumps(role | {"metadata": {"name": "like-the-chart"}}))
    _bind(control_plane, "like-the-chart", "planner")
    answer = _asked_until(control_plane, tmp_path, "planner", lambda each: not isinstance(each.exception, Problem))
    assert " start, " in answer.stdout
    assert _refused(control_plane, history.command, user="planner") in ("", "No resources found\n")
