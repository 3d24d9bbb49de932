"""A replay as rows for tables and programs, as Markdown for a pull request, and as one HTML page with its picture."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Final

from cli.render.page import Bar, color_key, page, picture, table
from cli.replay.group_rows import ReplayRow
from cli.replay.lives import ReplayedWorkload
from shared.json_data import Json
from shared.text.quantities import hour_unit, hours
from shared.text.times import age_text

TITLES: Final = (
    "Group", "Workloads", "Waiting", "Wait, median", "Wait, 95 %", "Evictions", "Used", "Lost", "Earlier", "Later"
)  # fmt: skip


def replay_as_data(row: ReplayRow) -> Json:
    """Return one group's row: waits in seconds, use in base units times milliseconds and in hours."""
    return {
        "group": row.group,
        "workloads": row.workloads,
        "waiting": row.waiting,
        "waitMedianSeconds": int(row.wait_median.total_seconds()),
        "wait95Seconds": int(row.wait_95.total_seconds()),
        "evictions": row.evictions,
        "used": dict(row.used),
        "usedHours": {resource: hours(resource, amount) for resource, amount in row.used.items()},
        "lost": dict(row.lost),
        "lostHours": {resource: hours(resource, amount) for resource, amount in row.lost.items()},
        "earlier": row.earlier,
        "later": row.later,
    }


def replayed_as_data(each: ReplayedWorkload) -> Json:
    """Return when one workload started and was evicted, as recorded and as replayed."""
    past = each.past
    return {
        "workload": past.workload.key,
        "kind": past.workload.kind,
        "group": past.workload.group,
        "created": past.came.isoformat(),
        "recorded": {"starts": _texts(past.starts), "evictions": _texts(past.evictions)},
        "replayed": {"starts": _texts(each.starts), "evictions": _texts(each.evictions)},
    }


def _texts(moments: Iterable[datetime]) -> list[str]:
    return [moment.isoformat() for moment in moments]


def cells(row: ReplayRow) -> Iterator[str]:
    """Yield what a table shows of a row, in the order of TITLES."""
    yield row.group
    yield from (str(row.workloads), str(row.waiting), age_text(row.wait_median), age_text(row.wait_95))
    yield str(row.evictions)
    yield from (_amounts(row.used), _amounts(row.lost), str(row.earlier), str(row.later))


def _amounts(amounts: Mapping[str, int]) -> str:
    shown = (f"{hours(name, amount)} {hour_unit(name)}" for name, amount in sorted(amounts.items()) if amount)
    return ", ".join(shown) or "0"


def markdown(rows: Sequence[ReplayRow], notes: Sequence[str]) -> str:
    """Return a table and what is to be known of it."""
    head = f"| {' | '.join(TITLES)} |\n|---|{'---:|' * (len(TITLES) - 1)}\n"
    table = "".join(f"| {' | '.join(cells(row))} |\n" for row in rows)
    return head + table + "".join(f"\n* {note}" for note in notes) + ("\n" if notes else "")


def html(rows: Sequence[ReplayRow], notes: Sequence[str]) -> str:
    """Return a page without links to anything: a picture of the waits, the table, the notes."""
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    key = color_key("half of the workloads", "95 % of them")
    waits = f"<h2>How long workloads waited</h2><p>{key}</p>{_picture(rows)}"
    return page("Replay", waits, table(TITLES, ([*cells(row)] for row in rows), 1), f"<ul>{said}</ul>")


def _picture(rows: Sequence[ReplayRow]) -> str:
    """Return a bar for each group: until half of its workloads have started, and until 95 % have."""
    bars = [Bar(row.group, _parts(row), f"{age_text(row.wait_median)} · {age_text(row.wait_95)}") for row in rows]
    said = (f"{row.group} {age_text(row.wait_median)} to {age_text(row.wait_95)}" for row in rows)
    return picture(bars, ", ".join(said))


def _parts(row: ReplayRow) -> tuple[float, float]:
    return row.wait_median.total_seconds(), (row.wait_95 - row.wait_median).total_seconds()
