"""`hold` and `resume` find a workload of every kind by its name alone."""

import json
import os

import pytest
from click.testing import CliRunner

from cli.commands.changing.switches import hold, resume
from dev.controlplane.cluster import ControlPlane
from shared.api.names import HOLD_LABEL, POD_GROUP_LABEL
from shared.problems import Problem
from tests.cli.live.live_kinds import install_kinds

POD = {"containers": [{"name": "c", "image": "registry.example/c"}], "restartPolicy": "Never"}
OBJECTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "switched"}},
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "switched"},
        "spec": {"suspend": True, "template": {"spec": POD}},
    },
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "switched"}, "spec": POD},
    *(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"member-{each}", "namespace": "switched", "labels": {POD_GROUP_LABEL: "gang"}},
            "spec": POD,
        }
        for each in range(2)
    ),
]


def test_workload_of_every_kind_is_held_and_resumed_by_its_name(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    control_plane.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    runner = CliRunner(env={"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"})
    flags = [f"--kubeconfig={control_plane.kubeconfig}", "-n", "switched"]
    members = ("pod/member-0", "pod/member-1")
    for name, objects in (("job", ("job/job",)), ("pod", ("pod/pod",)), ("gang", members)):
        for command, text in ((hold, "true"), (resume, "")):
            done = runner.invoke(command, [name, *flags])
            assert done.exit_code == 0, (name, done.output, done.exception)
            assert {_label(control_plane, each) for each in objects} == {text}
    refused = runner.invoke(hold, ["absent", *flags]).exception
    assert isinstance(refused, Problem)
    assert (
        str(refused) == "there is no Job, object of a governed kind, pod or pod group 'absent' in namespace 'switched'"
    )


def _label(control_plane: ControlPlane, target: str) -> str:
    found = control_plane.kubectl("get", target, "-n", "switched", "-o", "json").stdout
    labels: dict[str, str] = json.loads(found)["metadata"].get("labels", {})
    return labels.get(HOLD_LABEL, "")


@pytest.mark.parametrize("name", ["a/b/c/d", "a//b"])
def test_name_that_can_mean_no_workload_is_refused(name: str) -> None:
    refused = CliRunner().invoke(hold, [name]).exception
    assert isinstance(refused, Problem)
    assert "write NAMESPACE/NAME, or KIND/NAMESPACE/NAME" in str(refused)
