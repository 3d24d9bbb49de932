"""Answers read from a live cluster, with the rights of the user: the visibility API, and the evictions of the past."""
