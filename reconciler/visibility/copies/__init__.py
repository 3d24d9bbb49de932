"""Copies of the reconciler's process, made by fork, that answer questions about the world as it was at that moment."""
