"""What users and monitoring see: status, events, metrics. Code here decides nothing and writes no workload."""
