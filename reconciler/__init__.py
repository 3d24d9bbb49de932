"""Keeps the cluster at what the quota allows: one leader-elected process, rebuilt from the API server at each start.

`cluster_state`, `work`, `assumptions`, `patches`, `notes` and `group_status` are pure. Only `workload_writer` writes
Jobs and pods, only `status_writer` writes status.
"""
