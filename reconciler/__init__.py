"""Keeps the cluster within its quota: one leader-elected process, rebuilt from the API server at each start.

`state` is pure. Only `write` writes Jobs, pods and objects of governed kinds; only `report.status_writer` writes
status.
"""
