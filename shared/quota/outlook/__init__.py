"""What is said of a plan: what waits and why, what would help, what an edit would change, when a workload starts."""
