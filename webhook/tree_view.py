"""The tree and the flavors as the watches last told them, with root's capacity as the reconciler last measured it."""

from collections.abc import Mapping, Sequence

from shared.api.quotagroup import read_quota_group
from shared.api.reading import Unreadable
from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS, RESOURCE_FLAVORS
from shared.kube.watching import Change, Changed, Watch, Watches
from shared.quota.model.flavor import Flavor
from shared.quota.model.group_reading import read_flavor, read_group
from shared.quota.model.tree import ROOT, Group, Tree
from shared.resources import Amount, FlavorResource, QuantityError, read_amount

Capacity = Mapping[FlavorResource, Amount]
GroupRecord = tuple[Group, tuple[tuple[FlavorResource, Amount], ...]]


class TreeView:
    """Read at any time from the same loop; kept by the watches it adds."""

    def __init__(self, client: Client, watches: Watches) -> None:
        self.tree = Tree.of(())
        self.flavors: dict[str, Flavor] = {}
        self.capacity: Capacity | None = None
        """None while the reconciler has not measured it."""
        self.groups_watch = watches.add(Watch(client, QUOTA_GROUPS, project_group, self._see_groups))
        self.flavors_watch = watches.add(Watch(client, RESOURCE_FLAVORS, read_flavor, self._see_flavors))

    def _see_groups(self, changes: Sequence[Change[GroupRecord]]) -> None:
        known = {**self.tree.groups}
        for change in changes:
            if isinstance(change, Changed):
                if change.before is not None:
                    known.pop(change.before[0].name, None)
                if change.after is not None:
                    group, capacity = change.after
                    known[group.name] = group
                    if group.name == ROOT:
                        self.capacity = dict(capacity) or None
        self.tree = Tree.of(known.values())

    def _see_flavors(self, changes: Sequence[Change[Flavor]]) -> None:
        for change in changes:
            if isinstance(change, Changed):
                if change.before is not None:
                    self.flavors.pop(change.before.name, None)
                if change.after is not None:
                    self.flavors[change.after.name] = change.after


def project_group(raw: bytes) -> GroupRecord:
    """The group, and the capacity that its status shows; only root's shows any."""
    return read_group(raw), tuple(_capacity(raw).items())


def _capacity(raw: bytes) -> dict[FlavorResource, Amount]:
    found: dict[FlavorResource, Amount] = {}
    try:
        for quota in read_quota_group(raw).status.quotas:
            for resource, quantity in quota.capacity.items():
                found[FlavorResource(quota.flavor, resource)] = read_amount(resource, quantity)
    except (Unreadable, QuantityError):
        return {}
    return found
