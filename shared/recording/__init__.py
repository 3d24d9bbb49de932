"""The log of what enters a cluster and what becomes of it: its lines, its files, and who writes which object when.

`quotree record` and the reconciler write it, `quotree replay` reads it. What a line means for quota is not said here.
"""
