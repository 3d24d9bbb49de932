"""What limits and capacity alone say of one key: effectiveMin, and the largest request that could ever fit.

A request could ever fit when it fits the tree in which nothing else runs, while the others keep their guarantees.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from shared.quota.measure.division import deal
from shared.quota.measure.frame import Frame
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource

NO_ROOM: Final = -1
"""Not even an empty request fits: the guarantees beside it leave less than its group's own."""


class Bound(msgspec.Struct, frozen=True, gc=False):
    """One group's bounds for one key."""

    effective_min: Amount = 0
    kept: Amount = 0
    """min(guarantee, effectiveMin): what it keeps while idle."""
    idle: Amount = 0
    """Its charge while nothing runs below it."""
    room: Amount = 0
    """The largest charge that could ever fit; NO_ROOM where none could."""


UNBOUND: Final = Bound()
Bounds = Mapping[str, Bound]
"""group -> its bounds, for one key."""


def compute_bounds(frame: Frame, key: FlavorResource, runtime: Amount) -> dict[str, Bound]:
    """The bounds of every group that has `key`, when root's runtime is `runtime`."""
    members = [name for name in frame.order if key in frame.limits[name]]
    below = _members_below(frame, key, members)
    promised = _effective_mins(frame, key, runtime, members, below)
    kept = {name: min(frame.limits[name][key].guarantee, promised[name]) for name in members}
    idle: dict[str, Amount] = {}
    for name in reversed(members):
        idle[name] = max(kept[name], sum(idle[child] for child in below.get(name, ())))
    rooms = {ROOT: min(frame.limit(ROOT, key).ceiling, runtime)}
    for name in members:
        together = sum(idle[child] for child in below.get(name, ()))
        for child in below.get(name, ()):
            left = rooms[name] - together + idle[child]
            rooms[child] = room_of(frame.limits[child][key].ceiling, left, kept[child])
    return {name: Bound(promised[name], kept[name], idle[name], rooms[name]) for name in members}


def room_of(ceiling: Amount, left: Amount, kept: Amount) -> Amount:
    """What a group may be charged at most, when its parent has `left` for it."""
    return min(ceiling, left) if left >= kept else NO_ROOM


def _members_below(frame: Frame, key: FlavorResource, members: list[str]) -> dict[str, list[str]]:
    below: dict[str, list[str]] = {}
    for name in members:
        if name != ROOT:
            below.setdefault(frame.parents[name], []).append(name)
    return below


def _effective_mins(
    frame: Frame, key: FlavorResource, runtime: Amount, members: list[str], below: Mapping[str, list[str]]
) -> dict[str, Amount]:
    promised = {ROOT: runtime}
    for name in members:
        children = below.get(name, [])
        mins = [frame.limits[child][key].min for child in children]
        if sum(mins) > promised[name]:
            mins = deal(promised[name], mins)
        promised.update(zip(children, mins, strict=True))
    return promised


def binding_group(frame: Frame, bounds: Bounds, leaf: str, key: FlavorResource) -> str:
    """The group whose limit makes the room of `leaf` as small as it is."""
    at = leaf
    while at != ROOT and bounds.get(at, UNBOUND).room != frame.limit(at, key).ceiling:
        at = frame.parents[at]
    return at
