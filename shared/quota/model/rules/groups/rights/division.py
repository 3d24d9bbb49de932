"""Who divides a part of the tree: with `quota.requireDivide`, groups are edited only below one that a user may divide.

RBAC cannot name groups that do not exist yet, so who creates groups may create them anywhere; the verb `divide` on a
QuotaGroup says where.

See docs/specification.md §4.4.
"""

from collections.abc import Iterable, Iterator

from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group, shortened
from shared.quota.model.tree import ROOT, Group


def check_division(outside: Iterable[Group], user: str) -> Iterator[Violation]:
    """Who edits a group has the verb `divide` on a group above it (`quota.requireDivide`), before and after the edit.

    `outside`: the states of the group, before and after, that are below none of those.
    """
    for state in outside:
        above = shortened(state.parent or "")
        place = f"below {above}" if state.parent is not None else "the root"
        where = f"QuotaGroup {above} or one above it" if state.parent not in (None, ROOT) else "all QuotaGroups"
        message = (
            f"the group is {place}, where user {shortened(user)} divides nothing: for that, it needs the verb divide "
            f"on {where} (quota.requireDivide); have it granted, or ask a user who has it"
        )
        yield Violation("OutsideDivision", of_group(state.name), "spec.parent", message)
        return
