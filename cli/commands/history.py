"""`quotree history`: which workloads were evicted, why, and for whom."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from cli.read.cluster.evictions import NewEvictions, read_evictions
from cli.read.cluster.live import LiveCluster, live_options
from cli.read.cluster.names import check_group, complete_explained
from cli.read.cluster.targets import targets_of
from cli.read.options import ListScope, scope_options
from cli.render.listing import ListColumn, ListOutput, list_options
from cli.render.watching import watch as watch_list
from shared.api.durations import earlier, read_duration
from shared.json_data import Json
from shared.problems import Problem
from shared.text.times import moment_text

COLUMNS: Final = (
    ListColumn("TIME", "at", rank=1),
    ListColumn("WORKLOAD", "workload"),
    ListColumn("KIND", "kind", wide=True),
    ListColumn("GROUP", "group", rank=2),
    ListColumn("REASON", "reason"),
    ListColumn("TAKEN", "taken", rank=4, text=True),
    ListColumn("FOR", "taker", rank=3, text=True),
    ListColumn("RULE", "rule", wide=True),
    ListColumn("TIMES", "times", wide=True),
    ListColumn("SOURCE", "source", wide=True),
    ListColumn("MESSAGE", "message", wide=True),
)


@live_options
@list_options
@scope_options
@click.command("history")
@click.argument("name", default="", shell_complete=complete_explained)
@click.option("--since", metavar="DURATION", help="Only of the last so many hours, such as 24h.")
@click.option("--most", type=click.IntRange(1), default=1000, show_default=True, help="At most so many, the latest.")
@click.option("-w", "--watch", is_flag=True, help="Watch, and print each further eviction; the latest last.")
def command(
    name: str, since: str | None, most: int, watch: bool, scope: ListScope, shown: ListOutput, cluster: LiveCluster
) -> None:
    """List evictions, the latest first: of which workload, for which reason, what it had, and for whom.

    NAME is a group: its workloads, and what was evicted for them; or a workload, NAMESPACE/NAME or NAME in the
    namespace of -n or of the context: its own, with each message below the list.

    Read from the workloads' annotations, which have the latest eviction of each Job and of each object of a governed
    kind for as long as it exists, and from events, which have earlier ones for as long as the API server keeps events
    (an hour by default).
    """
    earliest, workload = _earliest(since), name
    if name and "/" not in name:
        workload = f"{scope.namespace or cluster.namespace}/{name}"

    def read() -> list[Json]:
        return [
            each
            for each in read_evictions(cluster, scope.namespace)
            if scope.groups.takes(each["group"])
            and (name in ("", each["group"], each["forGroup"]) or workload == each["workload"])
            and (earliest is None or datetime.fromisoformat(each["at"]) >= earliest)
        ][:most]

    found = scope.within_rights(read, "what was stopped")
    if name and not found:
        click.echo(_nothing(workload if _is_no_group(name, workload, cluster) else name, since), err=True)
    if watch:
        watch_list(NewEvictions(read), _print, shown)
    _print(found, shown)
    if found and shown.shown_as == "table" and all(each["workload"] == workload for each in found):
        click.echo()
        for each in found:
            click.echo(f"{moment_text(each['at'])}: {each['message']}")


def _is_no_group(name: str, key: str, cluster: LiveCluster) -> bool:
    """Return whether it is a workload's name, whose key is `key`. Raises Problem if it is no group's either."""
    if "/" in name:
        return True
    try:
        check_group(cluster, name)
    except Problem:
        namespace, _, workload = key.partition("/")
        if not any(each.read(cluster) for each in targets_of(cluster, "", namespace, workload)):
            raise
        return True
    return False


def _print(found: Sequence[Json], shown: ListOutput) -> None:
    shown.print([each | _texts(each) for each in found] if shown.is_table else found, COLUMNS, "workload")


def _nothing(name: str, since: str | None) -> str:
    what = f"workload {name}" if "/" in name else f"a workload of group {name}, or for one of it,"
    when = f" within {since}" if since else ""
    return (
        f"quotree: no eviction of {what} is known{when}; what is gone has its evictions in events only, which are "
        "kept for an hour by default"
    )


def _earliest(since: str | None) -> datetime | None:
    if since is None:
        return None
    length: timedelta | None = read_duration(since)
    if length is None:
        raise Problem(f"--since {since!r} is not a duration; write for example 30m or 24h")
    return earlier(datetime.now(UTC), length)


def _texts(each: Json) -> Json:
    amounts = ", ".join(f"{amount} {resource}" for resource, amount in sorted(each["request"].items()))
    flavors = f" of {', '.join(each['flavors'])}" if amounts and each["flavors"] else ""
    taker = each["for"] or ("a workload" if each["forGroup"] else "")
    taker += f" of {each['forGroup']}" if each["forGroup"] else ""
    return {"taken": amounts + flavors, "taker": taker, "at": moment_text(each["at"])}
