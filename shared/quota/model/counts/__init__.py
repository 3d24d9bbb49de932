"""Pods and workloads as resources of a group: how many may run at once. Pure; neither measuring nor deciding knows it.

A count has no flavor: what its key has in place of one is `counts`. See docs/specification.md §2.12.
"""
