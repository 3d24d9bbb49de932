"""Jobs and pods on the node, also while processes and the kubelet are away."""
