"""Which group, flavor and resource keep a workload from starting, and how much is missing there.

See docs/specification.md §9.2.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Quantities, Usage
from shared.quota.measure.idle_guarantees import IdleGuarantee
from shared.quota.model.node import NodeShortage
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource, write_quantity

_NAMED = 3
"""So many groups that keep room while idle, and so many others that bind, are named."""


class Shortage(NamedTuple):
    """What binds: `missing` of `key` in `group`, of which `limit` may be used and `free` still is."""

    missing: Amount
    group: str
    key: FlavorResource
    asked: Amount
    available: Amount
    limit: Amount
    kept: tuple[IdleGuarantee, ...] = ()
    """What idle groups keep of what is charged."""
    others: "tuple[Shortage, ...]" = ()
    """What else must end first: limits on which less is missing, or the same."""

    @property
    def sentence(self) -> str:
        """`group 'vision' lacks 2 of a100/nvidia.com/gpu (request 4, free 2); runs when used falls to 6`.

        Of others it says ` and group 'lab' has 1 more free`.
        """

        def text(amount: Amount) -> str:
            return write_quantity(self.key.resource, amount)

        counted = "charge" if self.kept else "used"
        ends = (
            f"runs when {counted} falls to {text(self.limit - self.asked)}{self._others_text()}"
            if self.asked <= self.limit
            else f"at most {text(self.limit)} may be used there"
        )
        idle = ", ".join(f"{each.group!r} {text(each.amount)}" for each in self.kept[:_NAMED])
        if len(self.kept) > _NAMED:
            idle += f" and {len(self.kept) - _NAMED} more"
        keeps = f"; idle groups keep {idle} of it" if self.kept else ""
        return (
            f"group {self.group!r} lacks {text(self.missing)} of {self.key} "
            f"(request {text(self.asked)}, free {text(max(0, self.available))}); {ends}{keeps}"
        )

    def _others_text(self) -> str:
        """Return what must be free for the others to end; a key is named where it is another one."""
        texts = [
            f" and group {each.group!r} has {write_quantity(each.key.resource, each.missing)} more"
            f"{'' if each.key == self.key else f' of {each.key}'} free"
            for each in self.others[:_NAMED]
        ]
        more = len(self.others) - len(texts)
        return "".join(texts) + (f" and {more} others likewise" if more else "")


def worst(found: Iterable[Shortage]) -> Shortage | None:
    """Return the shortage that misses most; of equals the first."""
    return max((each for each in found if each.missing > 0), key=lambda each: each.missing, default=None)


def _binding(found: Sequence[Shortage]) -> Shortage | None:
    """Return the shortage that misses most of those that must all end, from the leaf up, and with it the others.

    Those of groups above it end with it, for what ends there ends above too.
    """
    short = worst(found)
    if short is None:
        return None
    below = found[: found.index(short)]
    others = (each for each in found if each.missing > 0 and (each.key != short.key or each in below))
    return short._replace(others=tuple(others))


def on_path(usage: Usage, path: tuple[str, ...], quantities: Quantities) -> Shortage | None:
    """Return what binds once `quantities` are added here: the group on the path that misses most, and the others.

    A group whose limit is no tighter than one above it does not bind: the one above does.
    """
    usage.add(path, quantities)
    found = []
    for key, amount in quantities:
        limits = [usage.limit(group, key) for group in path]
        for level, group in enumerate(path):
            limit, charge = limits[level], usage.charge(group, key)
            if all(limit < above for above in limits[level + 1 :]):
                found.append(Shortage(charge - limit, group, key, amount, limit - charge + amount, limit))
    usage.remove(path, quantities)
    return _binding(found)


def below_node(flavor: str, node: NodeShortage) -> Shortage:
    """Return what the largest node of the flavor lacks for one pod."""
    key = FlavorResource(flavor, node.resource)
    return Shortage(node.requested - node.offered, ROOT, key, node.requested, node.offered, node.offered)


def beyond_min(leaf_usage: LeafUsage, quantities: Quantities) -> Shortage | None:
    """Return what a workload that is not preemptible lacks of its leaf's effectiveMin."""
    found = []
    for key, amount in quantities:
        limit, non_preemptible = leaf_usage.numbers(key).effective_min, leaf_usage.non_preemptible.get(key, 0)
        found.append(
            Shortage(non_preemptible + amount - limit, leaf_usage.name, key, amount, limit - non_preemptible, limit)
        )
    return _binding(found)


def beyond_runtime(leaf_usage: LeafUsage, quantities: Quantities) -> Shortage | None:
    """Return what the leaf lacks of its runtime."""
    found = []
    for key, amount in quantities:
        limit = leaf_usage.numbers(key).runtime
        used = leaf_usage.used.get(key, 0) + leaf_usage.claimed.get(key, 0)
        found.append(Shortage(used + amount - limit, leaf_usage.name, key, amount, limit - used, limit))
    return _binding(found)
