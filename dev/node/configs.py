"""The settings files of containerd, of its network plugins, of kubelet and kube-proxy. Pure: values in, text out."""

import json
from pathlib import Path

from dev.node.names import BRIDGE, GATEWAY, NODE, PAUSE, PLUGINS, PODS, SOCKET, STATE

CERTIFICATES = STATE / "certificates"
REGISTRIES = STATE / "registries"
"""Where containerd reads, at each pull, which server stands for a registry; nothing there: the registry itself."""


def containerd(oci_hooks: Path = STATE / "opt") -> str:
    """`restrict_oom_score_adj`: root in a container often lacks CAP_SYS_RESOURCE, and then no sandbox would start."""
    return f"""\
version = 2
root = "{STATE / "containerd"}"
state = "{STATE / "containerd-state"}"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{SOCKET}"
[ttrpc]
  address = "{SOCKET}.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "{oci_hooks}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_tcp_service = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{REGISTRIES}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{PLUGINS}"
    conf_dir = "{STATE / "cni"}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def network() -> str:
    """Pods hang on one bridge and reach each other, the node and Services; nothing is forwarded to the outside."""
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(STATE / "addresses"),
            "ranges": [[{"subnet": PODS, "gateway": GATEWAY}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return json.dumps({"cniVersion": "0.4.0", "name": "quotree", "plugins": [bridge]})


def kubelet(client_authority: Path, port: int, health_port: int) -> str:
    """Small and undemanding: no reserved room, no eviction for a full disk of the developer's."""
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "port": port,
            "healthzPort": health_port,
            "healthzBindAddress": "127.0.0.1",
            "address": GATEWAY,
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(client_authority)},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failCgroupV1": False,
            "failSwapOn": False,
            "podLogsDir": str(STATE / "pod-logs"),
            "makeIPTablesUtilChains": False,
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "50Mi"},
            "nodeStatusUpdateFrequency": "5s",
            "syncFrequency": "10s",
            "fileCheckFrequency": "0s",
            "volumePluginDir": str(STATE / "volume-plugins"),
        }
    )


def proxy(kubeconfig: Path, health_port: int, metrics_port: int) -> str:
    return json.dumps(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "clusterCIDR": PODS,
            "hostnameOverride": NODE,
            "bindAddress": "127.0.0.1",
            "healthzBindAddress": f"127.0.0.1:{health_port}",
            "metricsBindAddress": f"127.0.0.1:{metrics_port}",
            "nodePortAddresses": ["primary"],
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        }
    )
