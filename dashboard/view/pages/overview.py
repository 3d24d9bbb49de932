"""The overview of one flavor and resource: how much there is, where it is tight, who waits longest, who lends."""

from collections.abc import Iterator
from heapq import nlargest, nsmallest
from typing import Final

from dashboard.view.frame import Frame
from dashboard.view.history import CAPACITY, LENT, PENDING, History
from dashboard.view.lending import pools_of
from dashboard.view.queue import Part, pending_of, row_of
from dashboard.view.totals import Total, is_leaf, totals, waiting
from dashboard.view.tree import amounts_of, measured, unit_of
from shared.json_data import Json
from shared.quota.measure.counts import Counts
from shared.quota.measure.report import Words
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource
from shared.text.quantities import readable

_MOST: Final = 5
"""So many groups and workloads of each list."""


def overview(frame: Frame, key: FlavorResource, history: History) -> Json:
    """Return the page about one flavor and resource."""
    every = totals(frame)
    total = every.get(key, Total())
    return {
        "frame": frame.number,
        "flavor": key.flavor,
        "resource": key.resource,
        "unit": unit_of(key.resource),
        "waiting": waiting(frame),
        "total": _total(key, total),
        "history": {
            "times": history.times(),
            "capacity": history.of(ROOT, key, CAPACITY),
            "used": history.of(ROOT, key, "used"),
            "borrowed": history.of(ROOT, key, LENT),
            "waiting": history.of(ROOT, None, PENDING),
        },
        "tight": [_tight_group(frame, key, *each) for each in nlargest(_MOST, _tight(frame, key), key=_strain)],
        "longest": _longest(frame),
        **_lending(frame, key),
        "keys": [_total(each, found) for each, found in every.items()],
    }


def _total(key: FlavorResource, total: Total) -> Json:
    amounts = {"capacity": total.capacity, "used": total.used, "borrowed": total.lent, "unmet": total.unmet}
    return {
        "flavor": key.flavor,
        "resource": key.resource,
        **amounts,
        "free": max(0, total.capacity - total.used),
        "text": {word: readable(key.resource, amount) for word, amount in amounts.items()}
        | {"free": readable(key.resource, max(0, total.capacity - total.used))},
    }


def _tight(frame: Frame, key: FlavorResource) -> Iterator[tuple[str, Words]]:
    """Yield the leaves that ask for more than they use."""
    for name, record in frame.groups.items():
        if is_leaf(record):
            amounts = dict(amounts_of(record, measured(frame, record))).get(key)
            if amounts is not None and amounts["request"] > amounts["used"]:
                yield name, amounts


def _strain(each: tuple[str, Words]) -> tuple[float, Amount, str]:
    """Order by what is asked for in proportion to what the group may use, then by what it lacks."""
    name, amounts = each
    return amounts["request"] / max(amounts["runtime"], 1), amounts["request"] - amounts["used"], name


def _tight_group(frame: Frame, key: FlavorResource, name: str, amounts: Words) -> Json:
    shown = {**amounts, "unmet": amounts["request"] - amounts["used"]}
    if frame.outlook is not None:
        pending = Counts().below(frame.outlook.given, name).pending
    else:
        pending = frame.groups[name].status.workloads.pending
    text = {word: readable(key.resource, amount) for word, amount in shown.items()}
    return {"group": name, "pending": pending, **shown, "text": text}


def _longest(frame: Frame) -> list[Json]:
    """Return those that have waited longest, of what is considered at all; in the whole cluster, for any resource."""
    found = nsmallest(
        _MOST,
        (each for each in pending_of(frame, "") if not (each[1].hold or each[1].deactivated)),
        key=lambda each: (each[1].queued, each[1].key),
    )
    return [row_of(frame, Part.PENDING, *each) for each in found]


def _lending(frame: Frame, key: FlavorResource) -> Json:
    """Return the pool below root, and the names of the other groups below which something is borrowed."""
    if frame.outlook is None:
        return {"pools": [], "lendingBelow": []}
    tree = frame.outlook.given.world.tree
    parents = [name for name, record in frame.groups.items() if record.group.is_parent and name != ROOT]
    below = [name for name in parents if name in tree and _borrows_below(frame, name, key)]
    pools = pools_of(frame.outlook, ROOT, key) if ROOT in tree else []
    return {"pools": pools, "lendingBelow": sorted(below)[: 2 * _MOST]}


def _borrows_below(frame: Frame, parent: str, key: FlavorResource) -> bool:
    if frame.outlook is None:
        return False
    given = frame.outlook.given
    own = (given.numbers.get(name, {}).get(key) for name in given.world.tree.children(parent))
    return any(each is not None and each.borrowed for each in own)
