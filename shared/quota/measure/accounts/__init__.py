"""Accounts: how much each group has used in each month, in whole base units times milliseconds. Pure.

See docs/specification.md §9.7.
"""
