"""What the weights in a leaf's order must be: numbers, each of a namespace or user.

See docs/specification.md §4.2 and §4.5.
"""

from collections.abc import Iterator
from typing import Final

from shared.api.crds.parts import MAX_REQUESTER
from shared.quota.model.rules.context import Context
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group, shortened
from shared.quota.model.rules.listing import listed
from shared.quota.model.tree import NAMESPACE_ACCOUNTS, Group, QueueOrder, Tree
from shared.resources import write_quantity

_WEIGHTS: Final = "spec.queueing.weights"


def check_order_weights(group: Group) -> Iterator[Violation]:
    """Each weight of a leaf's order is 0 or more, and has the name of a namespace or user."""
    for name, weight in group.order_weights.items():
        field = f"{_WEIGHTS}[{shortened(name)}]"
        if weight < 0:
            message = f"the weight of {shortened(name)} is {write_quantity('cpu', weight)}; write 0 or more"
            yield Violation("BadWeight", of_group(group.name), field, message)
        if not 0 < len(name) <= MAX_REQUESTER:
            message = (
                f'"{shortened(name)}" names nobody; write a namespace or a user of at most {MAX_REQUESTER} characters'
            )
            yield Violation("BadWeight", of_group(group.name), field, message)


def warn_unused_weights(tree: Tree, name: str, context: Context) -> Iterator[Violation]:
    """A weight has effect where the leaf's order is by namespace or user, and its namespace exists."""
    group = tree[name]
    if not group.order_weights:
        return
    if group.order is QueueOrder.AGE or group.is_parent:
        why = "the group holds no workloads" if group.is_parent else "the order is Age"
        message = (
            f"weights have no effect, because {why}; set order: Namespace or order: User in a leaf, or take them out"
        )
        yield Violation("UnusedWeight", of_group(name), _WEIGHTS, message)
        return
    absent = [each for each in sorted(group.order_weights) if _is_absent(each, group.order, context)]
    if absent:
        message = f"there is no namespace {listed(absent)}; a weight has no effect until its namespace exists"
        yield Violation("UnusedWeight", of_group(name), _WEIGHTS, message)


def _is_absent(requester: str, order: QueueOrder, context: Context) -> bool:
    if context.namespaces is None:
        return False
    if order is QueueOrder.NAMESPACE:
        return requester not in context.namespaces
    namespace = requester.removeprefix(NAMESPACE_ACCOUNTS)
    return namespace != requester and namespace not in context.namespaces
