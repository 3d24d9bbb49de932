"""Reviews of quota objects: judged against the tree, serialised across all replicas."""
