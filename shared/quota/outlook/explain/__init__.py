"""Why pending workloads wait: the limit that binds, and the amount that is missing."""
