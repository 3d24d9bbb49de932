"""Whose turn it is: the order within a leaf, between leaves, and which leaves are worth a look."""
