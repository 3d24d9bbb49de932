"""Faults of every kind while real work goes on, and a checker that reads the API server's own history afterwards.

`python -m tests.chaos` runs it. The checker knows nothing of the reconciler: only what was stored, when, and by whom.
"""
