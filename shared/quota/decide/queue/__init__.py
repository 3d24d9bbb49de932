"""The order of pending workloads: in a leaf, between leaves, after an eviction, and which leaves a pass looks at."""
