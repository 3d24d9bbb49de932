"""The tree, its limits, the workloads, and the rules they must obey. Nothing here measures or decides."""
