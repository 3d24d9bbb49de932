"""What does not depend on workloads: the indexed tree, capacity, the most a leaf could ever use, eligible flavors."""
