"""Budgets: how many hours of a resource a group may use in a period, and what follows when they are spent. Pure.

See docs/specification.md §2.11.
"""
