"""Replay: logs of what entered a cluster, lived through under a tree, and how that compares with what happened.

Each kind of log has a module that reads it. The engine of the cluster decides; nothing of quota is said here.
"""
