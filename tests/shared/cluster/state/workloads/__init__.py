"""What the state reads from each sort of workload."""
