"""What namespaces or users have used of late of leaves whose order is by these, from the statuses of QuotaGroups.

See docs/specification.md §6.7.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from cli.render.listing import ListColumn
from shared.api.quotagroup import QuotaGroup
from shared.json_data import Json
from shared.quota.measure.inputs.requester_use import OTHERS
from shared.quota.measure.inputs.written_status import read_past_use
from shared.text.explanation import requester_text
from shared.text.quantities import hour_unit, hours

_MILLISECONDS: Final = 1000
COLUMNS: Final = (
    ListColumn("GROUP", "group"),
    ListColumn("REQUESTER", "requesterText"),
    ListColumn("RESOURCE", "resource"),
    ListColumn("USED OF LATE", "pastUseText"),
    ListColumn("OF GROUP", "share", rank=1),
    ListColumn("WEIGHT", "weight", rank=2),
)


def requester_rows(groups: Mapping[str, QuotaGroup], resource: str | None) -> Iterator[Json]:
    """Yield a row for each requester and resource: by group and resource, the largest first, OTHERS last.

    `pastUse` is in base units times seconds, decayed to the moment of the status.
    """
    for name, group in sorted(groups.items()):
        use = read_past_use(group.status).requesters
        rows = [(each, *used) for each, own in use.items() for used in own.items() if resource in (None, used[0])]
        whole: dict[str, int] = {}
        for _, of, amount in rows:
            whole[of] = whole.get(of, 0) + amount
        for requester, of, amount in sorted(rows, key=lambda row: (row[1], row[0] == OTHERS, -row[2], row[0])):
            yield _row(name, group, requester, of, amount, amount * 100 // max(1, whole[of]))


def _row(name: str, group: QuotaGroup, requester: str, resource: str, amount: int, percent: int) -> Json:
    order = group.spec.queueing.order or ""
    return {
        "group": name,
        "requester": requester,
        "requesterText": requester_text(order, requester) if requester != OTHERS else "all others",
        "resource": resource,
        "pastUse": amount,
        "pastUseText": f"{hours(resource, amount * _MILLISECONDS)} {hour_unit(resource)}",
        "percent": percent,
        "share": f"{percent}%",
        "weight": str(group.spec.queueing.weights.get(requester, 1)),
    }
