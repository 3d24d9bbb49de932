"""The proof that random trees are measured exactly, and that random closed worlds come to rest.

See docs/specification.md §7.13.
"""
