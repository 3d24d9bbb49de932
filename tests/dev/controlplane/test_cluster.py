"""A whole control plane: what it starts it ends, and each part can be taken away and filled back."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.controlplane import cluster
from dev.controlplane.audit import AuditEvent
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs.binaries import Binaries
from tests.dev.controlplane.programs import ROOT, alive, eventually

STARTS = """
import sys, time
from dev.controlplane import cluster
from dev.controlplane.programs import binaries
cp = cluster.start(binaries.ensure(lambda line: None))
print(cp.workdir, *[process.pid for process in cp.processes.values()], flush=True)
time.sleep(600)
"""


def in_background() -> tuple[subprocess.Popen[str], Path, list[int]]:
    """A process of its own that holds a control plane; with its folder and the pids."""
    parent = subprocess.Popen([sys.executable, "-c", STARTS], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    folder, *pids = parent.stdout.readline().split()
    parent.stdout.close()
    return parent, Path(folder), [int(pid) for pid in pids]


@pytest.fixture(scope="module")
def own_control_plane(control_plane_binaries: Binaries) -> Iterator[cluster.ControlPlane]:
    """To be frozen and killed; each test leaves it as whole as it was."""
    with cluster.start(control_plane_binaries, nodes=[cluster.NodeSpec("node-0")]) as started:
        yield started


def test_shutdown_leaves_no_process_and_no_file(control_plane_binaries: Binaries) -> None:
    with cluster.start(control_plane_binaries) as control_plane:
        folder = control_plane.workdir
        pids = {name: process.pid for name, process in control_plane.processes.items()}
        assert set(pids) == {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
        assert all(alive(pid) for pid in pids.values())
    assert [name for name, pid in pids.items() if alive(pid)] == []
    assert not folder.exists()


def test_error_inside_the_context_stops_every_process(control_plane_binaries: Binaries) -> None:
    pids: list[int] = []

    def breaks() -> None:
        with cluster.start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as control_plane:
            pids.extend(process.pid for process in control_plane.processes.values())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        breaks()
    assert len(pids) == 2
    assert not any(alive(pid) for pid in pids)


def test_killed_parent_ends_its_processes_and_its_folder_is_removed_by_the_next_start(
    control_plane_binaries: Binaries,
) -> None:
    parent, folder, pids = in_background()
    assert len(pids) == 5
    assert all(alive(pid) for pid in pids)
    parent.kill()
    parent.wait()
    assert eventually(lambda: not any(alive(pid) for pid in pids))
    assert folder.exists()
    long_ago = 1_000_000_000
    os.utime(folder / "owner.lock", (long_ago, long_ago))
    with cluster.start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as control_plane:
        assert not folder.exists()
        assert control_plane.workdir.exists()


def test_two_control_planes_run_independently(
    own_control_plane: cluster.ControlPlane, control_plane_binaries: Binaries
) -> None:
    one = own_control_plane
    with cluster.start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as two:
        one.kubectl("create", "namespace", "only-here")
        assert one.url != two.url
        assert "only-here" in one.kubectl("get", "namespaces").stdout
        assert "only-here" not in two.kubectl("get", "namespaces").stdout
        assert two.kubectl("get", "namespaces", check=False, as_kubeconfig=one.kubeconfig).returncode == 0


def test_invalid_api_server_argument_is_reported_in_one_line(control_plane_binaries: Binaries) -> None:
    with pytest.raises(ControlPlaneError, match=r"kube-apiserver ended with code 1 .*unknown flag: --bogus") as caught:
        cluster.start(control_plane_binaries, extra_apiserver_args=["--bogus=1"])
    assert "\n" not in str(caught.value)


def test_frozen_api_server_serves_again_once_resumed(own_control_plane: cluster.ControlPlane) -> None:
    server = own_control_plane.processes["kube-apiserver"]
    server.freeze()
    asked = own_control_plane.kubectl("get", "namespaces", "--request-timeout=1s", check=False)
    assert asked.returncode == 1
    server.thaw()
    assert "default" in own_control_plane.kubectl("get", "namespaces").stdout


def test_stored_objects_survive_a_crash_of_etcd(own_control_plane: cluster.ControlPlane) -> None:
    own_control_plane.kubectl("create", "namespace", "kept")
    etcd = own_control_plane.processes["etcd"]
    etcd.kill()
    assert eventually(lambda: own_control_plane.rest.request("GET", "/readyz")[0] == 500)
    etcd.restart()
    own_control_plane.processes["kube-apiserver"].wait_until_ready()
    assert "kept" in own_control_plane.kubectl("get", "namespaces").stdout


def test_an_api_server_that_crashes_comes_back_at_the_same_address(own_control_plane: cluster.ControlPlane) -> None:
    own_control_plane.processes["kube-apiserver"].kill()
    assert own_control_plane.kubectl("get", "namespaces", check=False).returncode == 1
    own_control_plane.processes["kube-apiserver"].restart()
    assert own_control_plane.rest.request("GET", "/api/v1/namespaces/default")[0] == 200
    assert "default" in own_control_plane.kubectl("get", "namespaces").stdout


def test_jobs_create_no_pods_while_the_controller_manager_is_stopped(own_control_plane: cluster.ControlPlane) -> None:
    manager = own_control_plane.processes["kube-controller-manager"]
    manager.stop()
    own_control_plane.kubectl("create", "job", "waits", "--image=none")
    pods = "/api/v1/namespaces/default/pods"
    assert own_control_plane.rest.request("GET", pods)[1]["items"] == []
    manager.restart()
    assert eventually(lambda: len(own_control_plane.rest.request("GET", pods)[1]["items"]) == 1)


def test_refused_kubectl_command_raises_the_message_of_the_api_server(control_plane: cluster.ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match=r'kubectl get namespace nowhere .*namespaces "nowhere" not found'):
        control_plane.kubectl("get", "namespace", "nowhere")


def test_impersonated_user_has_only_the_rights_of_its_roles(control_plane: cluster.ControlPlane) -> None:
    control_plane.kubectl("create", "namespace", "identities")
    control_plane.kubectl("create", "serviceaccount", "robot", "-n", "identities")
    control_plane.kubectl("create", "rolebinding", "devs", "--clusterrole=view", "--group=devs", "-n", "identities")
    alice = control_plane.kubeconfig_for("alice", ["devs"])
    robot = control_plane.service_account_kubeconfig("identities", "robot")

    def may(kubeconfig: Path, *words: str) -> str:
        return control_plane.kubectl("auth", "can-i", *words, check=False, as_kubeconfig=kubeconfig).stdout.strip()

    assert eventually(lambda: may(alice, "list", "pods", "-n", "identities") == "yes")
    assert may(alice, "list", "pods", "-n", "default") == "no"
    assert may(robot, "list", "pods", "-n", "identities") == "no"
    who = control_plane.kubectl("auth", "whoami", "-o", "json", as_kubeconfig=robot).stdout
    assert json.loads(who)["status"]["userInfo"]["username"] == "system:serviceaccount:identities:robot"


def test_audit_log_has_each_request_with_user_and_response(control_plane: cluster.ControlPlane) -> None:
    carol = control_plane.kubeconfig_for("carol")
    control_plane.kubectl("get", "secrets", "-n", "audited", check=False, as_kubeconfig=carol)

    def of_carol() -> list[AuditEvent]:
        return [each for each in control_plane.audit_events() if (each.user, each.resource) == ("carol", "secrets")]

    # The answer is logged after it was given.
    assert eventually(lambda: bool(of_carol()))
    found = of_carol()
    assert {(event.verb, event.namespace, event.code) for event in found} == {("list", "audited", 403)}
    assert found[0].user_agent.startswith("kubectl/")


def test_control_plane_without_audit_log_reports_that(own_control_plane: cluster.ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match="start it with audit=True"):
        own_control_plane.audit_events()


def test_helm_uses_this_control_plane(control_plane: cluster.ControlPlane) -> None:
    assert json.loads(control_plane.helm("list", "-A", "-o", "json").stdout) == []
