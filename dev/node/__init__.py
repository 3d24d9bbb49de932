"""One real Kubernetes node on this machine, without Docker: containerd, kubelet, kube-proxy beside a control plane.

May live here: bringing the node up, taking every trace of it away again, installing the chart there. Not here: tests,
what only simulated nodes need. Needs root. Not in the wheel.
"""
