"""The tree in force at a moment: what groups say, with the overrides and windows that are open then. Pure.

All that measures, decides or judges takes its tree from here, and learns nothing of time. Nothing here knows rules.
"""

from shared.quota.model.in_force.amendments import Amendment, amendments_at, group_in_force
from shared.quota.model.in_force.trees import Announcement, DatedTree, announced, next_border, tree_in_force

__all__ = [
    "Amendment",
    "Announcement",
    "DatedTree",
    "amendments_at",
    "announced",
    "group_in_force",
    "next_border",
    "tree_in_force",
]
