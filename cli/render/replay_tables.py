"""A replay as rows for tables and programs, as Markdown for a pull request, and as one HTML page with its picture."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Final

from cli.replay.group_rows import ReplayRow
from cli.replay.lives import ReplayedWorkload
from shared.json_data import Json
from shared.text.quantities import hour_unit, hours
from shared.text.times import age_text

TITLES: Final = (
    "Group", "Workloads", "Waiting", "Wait, median", "Wait, 95 %", "Evictions", "Used", "Lost", "Earlier", "Later"
)  # fmt: skip
_WIDTH: Final = 480
_NAMES: Final = 200
_LINE: Final = 26
_STYLE: Final = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;
margin:2rem auto;padding:0 1rem;color:#1f2328}
table{border-collapse:collapse;width:100%}th,td{padding:.25rem .6rem;border-bottom:1px solid #d1d9e0;text-align:right}
th:first-child,td:first-child{text-align:left}svg text{font-size:12px}.half{fill:#1a7f64}.most{fill:#bf8700}"""


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
    head = "".join(f"<th>{escape(title)}</th>" for title in TITLES)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in cells(row))}</tr>" for row in rows)
    said = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Replay</title><style>{_STYLE}</style>'
        f"<h1>Replay</h1><h2>How long workloads waited</h2>{_picture(rows)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table><ul>{said}</ul></html>\n"
    )


def _picture(rows: Sequence[ReplayRow]) -> str:
    """Return two bars for each group: the median wait, and behind it the wait of 95 %."""
    most = max((row.wait_95 for row in rows), default=timedelta()) or timedelta(seconds=1)
    bars = "".join(_bar(row, place * _LINE, most) for place, row in enumerate(rows))
    said = escape(", ".join(f"{row.group} {age_text(row.wait_median)} to {age_text(row.wait_95)}" for row in rows))
    size = f'width="{_NAMES + _WIDTH + 120}" height="{len(rows) * _LINE}"'
    return f'<svg role="img" aria-label="{said}" {size}>{bars}</svg>'


def _bar(row: ReplayRow, top: int, most: timedelta) -> str:
    half, long = (int(wait / most * _WIDTH) for wait in (row.wait_median, row.wait_95))
    return (
        f'<text x="{_NAMES - 8}" y="{top + 15}" text-anchor="end">{escape(row.group)}</text>'
        f'<rect class="most" x="{_NAMES}" y="{top + 4}" width="{long}" height="14"/>'
        f'<rect class="half" x="{_NAMES}" y="{top + 4}" width="{half}" height="14"/>'
        f'<text x="{_NAMES + long + 6}" y="{top + 15}">{age_text(row.wait_median)} · {age_text(row.wait_95)}</text>'
    )
