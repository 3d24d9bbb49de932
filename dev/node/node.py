"""Brings the node up and down: network, containerd, images, control plane, kubelet, kube-proxy, in this order."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dev.controlplane import cluster
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.nodes import wait_until_nodes_are_ready
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.rest import serves
from dev.node import configs, images
from dev.node.commands import ctr, environment, listens, run
from dev.node.errors import NodeError
from dev.node.machine import cleanup, owner, requirements, state
from dev.node.names import BRIDGE, GATEWAY, MACHINE, NODE, STATE

# All of a real cluster but what gives out pod networks.
CONTROLLERS = ("*", "-node-ipam-controller")
READY_TIMEOUT = 120.0


class Node:
    """A cluster of one real node; close it, or use it as a context manager, and nothing of it is left."""

    def __init__(self, binaries: Binaries, image: Path, progress: Callable[[str], None]) -> None:
        """`image`: an archive of the image that pods may use. Raises NodeError when no node can be here."""
        if lacks := requirements.missing():
            raise NodeError("no real node here: " + "; ".join(lacks))
        if STATE.exists():
            raise NodeError(f"{STATE} exists: another node runs or was left behind, `make cluster-down` removes it")
        self._binaries = binaries
        self._image = image
        self._say = progress
        self._started = time.monotonic()
        self._owner: IO[str] | None = None
        self._before = state.read()
        self._ports = Ports()
        self._control_plane: ControlPlane | None = None
        self._processes: dict[str, Process] = {}

    @property
    def control_plane(self) -> ControlPlane:
        if self._control_plane is None:
            raise NodeError("the node has not been started")
        return self._control_plane

    @property
    def kubelet(self) -> Process:
        return self._processes["kubelet"]

    @property
    def before(self) -> state.Machine:
        """The machine before the node came."""
        return self._before

    def start(self) -> None:
        """Bring everything up and wait until the node is Ready; takes down what came up when something does not."""
        try:
            self._bring_up()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Take everything down; again does nothing. Raises NodeError with what was left behind."""
        if self._owner is None:
            return
        for name in ("kubelet", "kube-proxy"):
            if name in self._processes:
                self._processes[name].kill()
        cleanup.end_containers()
        if self._control_plane is not None:
            self._control_plane.close()
        if "containerd" in self._processes:
            self._processes["containerd"].stop()
        self._ports.close()
        cleanup.remove_traces(self._before)
        self._owner.close()
        self._owner = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _bring_up(self) -> None:
        self._owner = owner.take()
        state.save(self._before, MACHINE)
        self._make_network()
        self._start_containerd()
        with ThreadPoolExecutor(1) as beside:
            loading = beside.submit(images.load, self._image)
            self._control_plane = cluster.start(
                self._binaries, controllers=CONTROLLERS, kwok=False, audit=True, node_address=GATEWAY
            )
            self._tell("the control plane serves")
            loading.result()
        self._tell("the images are loaded")
        self._start_kubelet()
        self._start_proxy()
        wait_until_nodes_are_ready(self.control_plane.rest, {NODE}, READY_TIMEOUT)
        self._tell(f"node {NODE} is Ready")

    def _make_network(self) -> None:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{GATEWAY}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        (STATE / "cni").mkdir()
        (STATE / "cni/10-quotree.conflist").write_text(configs.network())

    def _start_containerd(self) -> None:
        settings = STATE / "containerd.toml"
        settings.write_text(configs.containerd())
        self._start("containerd", ["/usr/bin/containerd", f"--config={settings}"], listens)
        ctr("version")
        self._tell("containerd runs")

    def _start_kubelet(self) -> None:
        config = STATE / "kubelet.json"
        port, health = self._ports.take(), self._ports.take()
        config.write_text(configs.kubelet(self.control_plane.ca_file, port, health))
        kubeconfig = self.control_plane.kubeconfig_for(f"system:node:{NODE}", ("system:nodes",))
        words = [
            f"--config={config}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={STATE / 'kubelet'}",
            f"--cert-dir={configs.CERTIFICATES}",
            f"--hostname-override={NODE}",
            f"--node-ip={GATEWAY}",
        ]
        self._start("kubelet", [_path(self._binaries.kubelet), *words], _answers(health))

    def _start_proxy(self) -> None:
        config = STATE / "proxy.json"
        health = self._ports.take()
        kubeconfig = self.control_plane.kubeconfig_for("system:kube-proxy")
        config.write_text(configs.proxy(kubeconfig, health, self._ports.take()))
        self._start("kube-proxy", [_path(self._binaries.kube_proxy), f"--config={config}"], _answers(health))

    def _start(self, name: str, command: Sequence[str], probe: Callable[[], bool]) -> None:
        process = Process(name, command, log=STATE / f"{name}.log", environment=environment(), probe=probe)
        self._processes[name] = process
        process.start()

    def _tell(self, what: str) -> None:
        self._say(f"node: {what} ({time.monotonic() - self._started:.0f} s)")


def _answers(port: int) -> Callable[[], bool]:
    return lambda: serves(f"http://127.0.0.1:{port}/healthz")


def _path(program: Path | None) -> str:
    if program is None:
        raise NodeError("kubelet and kube-proxy are not built: python -m dev.controlplane build --node")
    return str(program)
