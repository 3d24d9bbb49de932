"""What this machine must have for a real node, each absence as something to do."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from dev.image import engines
from dev.node.names import PATH, PLUGINS

# Program -> the Debian package that has it.
PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "mount": "mount",
}
CNI = ("bridge", "host-local", "loopback")
OTHER_CLUSTER = "use a cluster of yours: make cluster USE_KUBECONFIG=1 with KUBECONFIG set"
OTHER_RUNTIME = Path("/run/containerd/containerd.sock")


def absent_packages() -> list[str]:
    """Return the Debian packages whose programs are not here; what builds the image too, where no engine answers."""
    found = {package for program, package in PROGRAMS.items() if shutil.which(program, path=PATH) is None}
    if not all((PLUGINS / plugin).is_file() for plugin in CNI):
        found.add("containernetworking-plugins")
    if shutil.which("mmdebstrap", path=PATH) is None and engines.answering() is None:
        found.add("mmdebstrap")
    return sorted(found)


def missing() -> list[str]:
    """Empty when a node can be started here."""
    return list(_missing())


def _missing() -> Iterator[str]:
    if os.uname().sysname != "Linux":
        yield f"a node needs Linux: {OTHER_CLUSTER}"
        return
    if os.geteuid() != 0:
        yield "run it as root: a node makes a bridge, mounts and control groups"
    if packages := absent_packages():
        yield f"apt-get install --no-install-recommends {' '.join(packages)} (APT=1 does that)"
    if OTHER_RUNTIME.exists():
        yield f"stop the containerd of this machine ({OTHER_RUNTIME}), or {OTHER_CLUSTER}"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        yield "control groups (/sys/fs/cgroup) must be writable: not so in an unprivileged container"
