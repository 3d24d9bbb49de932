"""What the engine is given: the tree, flavors, nodes and workloads of one instant, immutable."""
