"""Reviews of quota objects: judged against the tree, one after another across all replicas."""
