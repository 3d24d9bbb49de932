"""Every name that the node uses on this machine: one node at a time, so that they can be fixed and found again."""

from pathlib import Path
from typing import Final

STATE: Final = Path("/var/lib/quotree-node")
"""The only folder of the node: containers, images, kubelet, logs, sockets."""

SOCKET: Final = STATE / "containerd.sock"
BRIDGE: Final = "quotree0"
GATEWAY: Final = "10.244.0.1"
"""The bridge's address: the node's own, and where pods reach the API server."""

PODS: Final = "10.244.0.0/24"
NODE: Final = "quotree-node"
PAUSE: Final = "quotree.dev/pause:1"
PLUGINS: Final = Path("/usr/lib/cni")
"""Where Debian puts the CNI plugins."""

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

MACHINE: Final = STATE / "machine-before.json"
KUBECONFIG: Final = STATE / "admin.kubeconfig"
OWNER: Final = STATE / "owner.pid"
"""The pid of the process that holds the node, locked by it while it lives."""

# Folders that containerd, runc, the CNI plugins and the kubelet make at fixed places, whatever they are told.
FOREIGN: Final = tuple(
    map(
        Path,
        (
            "/run/containerd", "/run/netns", "/run/runc", "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet",
            "/var/log/containers", "/var/log/pods", "/etc/cni", "/opt/cni", "/opt/containerd", "/run/xtables.lock",
            "/usr/libexec/kubernetes", "/run/flannel",
        ),
    )
)  # fmt: skip
