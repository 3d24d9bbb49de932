"""What trees and flavors must obey: one rule, one function, one code. Nothing here knows reviews or a cluster.

`check_change` judges one edit, `check_tree` a whole set, `inactive_groups` what is stored already.
"""

from shared.quota.model.rules.checking import check_change, check_flavor, check_flavor_change, check_tree
from shared.quota.model.rules.context import NO_WORKLOADS, Context, GroupWorkloads, TreeEdit, no_workloads
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation, write_violations
from shared.quota.model.rules.groups.inactive import inactive_groups
from shared.quota.model.rules.over_time import check_change_over_time, check_tree_over_time

__all__ = [
    "NO_FINDINGS",
    "NO_WORKLOADS",
    "Context",
    "Findings",
    "GroupWorkloads",
    "TreeEdit",
    "Violation",
    "check_change",
    "check_change_over_time",
    "check_flavor",
    "check_flavor_change",
    "check_tree",
    "check_tree_over_time",
    "inactive_groups",
    "no_workloads",
    "write_violations",
]
