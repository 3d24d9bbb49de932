"""Whether a user may make this edit of a group: what RBAC, which knows objects and not trees, cannot say alone.

See docs/specification.md §4.4.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

from shared.api.review import Review, ReviewOperation, User
from shared.quota.model.in_force import group_in_force
from shared.quota.model.in_force.instants import instants
from shared.quota.model.rules import NO_FINDINGS, Findings
from shared.quota.model.rules.groups.rights.division import check_division
from shared.quota.model.rules.groups.rights.shares import check_shares, takes_more
from shared.quota.model.rules.over_time import at_moment
from shared.quota.model.tree import Group, Tree
from webhook.permissions import ALL_GROUPS, Permissions
from webhook.quota.edits import GroupEdit

DIVIDE: Final = "divide"
EDIT: Final = ("update", "patch")
CONTROL_PLANE: Final = "system:serviceaccount:kube-system:"
"""Accounts of the control plane: the garbage collector deletes, and the storage migrator writes, whatever there is."""


class EditRights:
    """Asks what the user may do to the groups above the edited one.

    `tree`: as the watch reports it. `read`: the group as it is stored now, None if it is not; raises ApiError.
    `requires_divide`: whether who can edit all groups still needs the verb `divide` above the edited one.
    """

    def __init__(
        self,
        permissions: Permissions,
        tree: Callable[[], Tree],
        read: Callable[[str], Awaitable[Group | None]],
        *,
        requires_divide: bool,
    ) -> None:
        self._permissions = permissions
        self._tree = tree
        self._read = read
        self._requires_divide = requires_divide

    async def check(self, review: Review, edit: GroupEdit) -> Findings:
        """Return what forbids the user this edit. Raises ApiError if the API server does not answer."""
        user = review.user_info
        if self._requires_divide and await self._is_for_all_groups(user, review.operation):
            outside = [
                each for each in (edit.old, edit.new) if each is not None and not await self._divides(user, each)
            ]
            return Findings(tuple(check_division(outside, user.username)))
        now = datetime.now(UTC)
        new, taken = edit.new, _taken(edit, now)
        if new is None or new.parent is None or not taken:
            return NO_FINDINGS
        if await self._may_any(user, EDIT, new.parent) or await self._divides(user, new):
            return NO_FINDINGS
        moment, old, amended = taken
        found = check_shares(old, amended, user.username)
        return Findings(tuple(at_moment(each, moment, now, (new,)) for each in found))

    async def _is_for_all_groups(self, user: User, operation: ReviewOperation) -> bool:
        """Return whether RBAC lets the user do this to any group, as it does whenever it lets it create one."""
        if user.username.startswith(CONTROL_PLANE):
            return False
        if operation is ReviewOperation.CREATE:
            return True
        verbs = ("delete",) if operation is ReviewOperation.DELETE else EDIT
        return await self._may_any(user, verbs, ALL_GROUPS)

    async def _divides(self, user: User, group: Group) -> bool:
        """Return whether the user has the verb `divide` on a group above this one, or on all.

        The watch can lag behind a group that was just created or moved: a "no" is made sure by what is stored.
        """
        if await self._permissions.may(user, DIVIDE, ALL_GROUPS):
            return True
        return await self._divides_above(user, group, self._known) or await self._divides_above(user, group, self._read)

    async def _divides_above(self, user: User, group: Group, read: Callable[[str], Awaitable[Group | None]]) -> bool:
        passed: set[str] = set()
        above = group.parent
        while above is not None and above not in passed:
            if await self._permissions.may(user, DIVIDE, above):
                return True
            passed.add(above)
            found = await read(above)
            above = found.parent if found is not None else None
        return False

    async def _known(self, name: str) -> Group | None:
        return self._tree().groups.get(name)

    async def _may_any(self, user: User, verbs: tuple[str, ...], group: str) -> bool:
        for verb in verbs:
            if await self._permissions.may(user, verb, group):
                return True
        return False


def _taken(edit: GroupEdit, now: datetime) -> tuple[datetime, Group | None, Group] | None:
    """Return the first moment at which the group takes more from its siblings, and the group before and after then."""
    if edit.new is None:
        return None
    for moment in instants([each for each in (edit.old, edit.new) if each is not None], now):
        old, new = edit.old and group_in_force(edit.old, moment), group_in_force(edit.new, moment)
        if takes_more(old, new):
            return moment, old, new
    return None
