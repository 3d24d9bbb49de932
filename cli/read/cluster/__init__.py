"""Answers read from a live cluster, with the rights of the user, and the objects that a name means there."""
