"""The order of pending workloads: within a leaf, between leaves, and which leaves a pass must look at."""
