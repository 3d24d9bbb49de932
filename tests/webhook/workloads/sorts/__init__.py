"""Reviews of each sort of workload: Jobs, pods, objects of governed kinds."""
