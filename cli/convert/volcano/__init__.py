"""Volcano: Queues, their hierarchy, Jobs of its own kind, and other workloads that name a queue."""
