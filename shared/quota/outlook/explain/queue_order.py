"""What gives a workload its place where its leaf's order is by namespace or user. docs/specification.md §6.7."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shared.quota.measure.inputs.requester_use import requester_of
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.tree import WHOLE_WEIGHT, QueueOrder
from shared.quota.model.workload import Workload
from shared.resources import Amount

_OTHERS: Final = 3
"""How many other requesters that wait are shown, those with the least first."""


@dataclass(frozen=True, slots=True)
class RequesterShare:
    """What counts for one requester before anything that waits, and its weight in thousandths."""

    name: str
    amount: Amount
    """Past use of the resource shown, and six minutes of what is used now, in base units times milliseconds."""
    weight: int


@dataclass(frozen=True, slots=True)
class OrderExplanation:
    """The workload's own requester first, then others that wait in the leaf."""

    order: QueueOrder
    resource: str
    """That of which the own requester, or else another one shown, has used the largest part of the capacity."""
    shares: tuple[RequesterShare, ...]


def explain_order(leaf: LeafSnapshot | None, workload: Workload) -> OrderExplanation | None:
    """Return what gives the workload its place; None where age does, or it has none."""
    if leaf is None or leaf.order.order is QueueOrder.AGE or workload.id not in {each.id for each in leaf.pending}:
        return None
    sort = leaf.order
    own = requester_of(sort.order, workload)
    rest = {requester_of(sort.order, each) for each in leaf.pending} - {own}
    first = sorted(rest, key=lambda name: (*sort.share_of(name), name))[:_OTHERS]
    resource = next(filter(None, map(sort.leading_resource, (own, *first))), "")
    return OrderExplanation(sort.order, resource, tuple(_shares(leaf, (own, *first), resource)))


def _shares(leaf: LeafSnapshot, names: Iterable[str], resource: str) -> Iterable[RequesterShare]:
    for name in names:
        amount = leaf.order.use_of(name).get(resource, 0)
        yield RequesterShare(name, amount, leaf.order.weights.get(name, WHOLE_WEIGHT))
