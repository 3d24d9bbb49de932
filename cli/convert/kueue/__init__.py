"""Kueue: ResourceFlavors, Cohorts, ClusterQueues, LocalQueues, priority classes, and the workloads that name queues."""
