"""One busy cluster as `explain`, `pending` and `tree` show it on terminals of 40 to 120 columns, and in ASCII.

QUOTREE_SCREENS=1 writes the pictures again; look at each of them before it is kept.
"""

import io
import json
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import msgspec
import pytest

from cli.commands.pending import as_shown, print_rows, rows_of
from cli.render.listing import ListOutput
from cli.render.terminal import to_ascii, wrapped
from cli.render.tree.tree_rows import Filter, rows
from cli.render.tree.tree_table import draw
from reconciler.report.status.groups import status_of
from shared.api.quotagroup import QuotaGroup, QuotaGroupStatus, read_quota_group
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.json_data import Json
from shared.quota.measure.counts import Counts
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.outlook import Outlook
from shared.text.explanation import SCREENFUL, lines, screenful
from tests.builders import NOW, after, evicting, pending, running, world

SCREENS = Path(__file__).parent / "screens"
GPU = "nvidia.com/gpu"
TREE = f"""
root a100:{GPU} 32 a100:cpu 256000 | t4:{GPU} 16 t4:cpu 64000
  research/ a100:{GPU} 16 a100:cpu 128000 | t4:{GPU} 8 t4:cpu 32000
    computer-vision a100:{GPU} 8 a100:cpu 64000 | t4:{GPU} 8 t4:cpu 32000
    language-models a100:{GPU} 8 a100:cpu 64000
  production/ a100:{GPU} 16 a100:cpu 128000 | t4:{GPU} 8 t4:cpu 32000
    recommendations a100:{GPU} 12 a100:cpu 64000 | t4:{GPU} 8 t4:cpu 32000
    search a100:{GPU} 4 a100:cpu 64000
"""


def _ask(gpus: int) -> dict[str, int]:
    return {GPU: gpus, "cpu": gpus * 4000}


@pytest.fixture(scope="module")
def outlook() -> Outlook:
    trainings = [
        running("language-models", _ask(1), f"pretrain-shard-{each:02}", "a100", since=after(-60 * each))
        for each in range(19)
    ]
    serving = [running("recommendations", _ask(3), f"ranker-{each}", "a100", preemptible=False) for each in range(3)]
    victim = running("search", _ask(4), "reindex", "a100")
    waiting = [
        pending("computer-vision", _ask(8), f"segmentation-{each}", queued=after(each - 600), only_flavor="a100")
        for each in range(3)
    ]
    held = pending("search", _ask(1), "nightly", hold=True)
    preemptor = pending("recommendations", _ask(4), "retrain-embeddings", priority=10)
    leaving = evicting(victim, preemptor, flavor="a100")
    workloads: list[Workload] = [*trainings, *serving, leaving, *waiting, held, preemptor]
    return Outlook.of(world(TREE, workloads, (Flavor("a100"), Flavor("t4"))), NOW)


def _explanation(outlook: Outlook, columns: int | None) -> list[str]:
    return [*wrapped(screenful(_explained(outlook, WorkloadId("Job", "ns/segmentation-2"))), columns)]


@cache
def _explained(outlook: Outlook, workload: WorkloadId) -> Json:
    """With every remedy tried, which takes seconds."""
    found = outlook.find(workload)
    assert found is not None
    return outlook.explained(found)


def _pending(outlook: Outlook, columns: int | None) -> list[str]:
    return _printed(
        lambda: print_rows([as_shown(each) for each in rows_of(outlook, "root")], ListOutput(width=columns))
    )


def _tree(outlook: Outlook, columns: int | None) -> list[str]:
    return _printed(lambda: draw(rows(_groups(outlook), "root", Filter()), columns))


def _printed(show: Callable[[], None]) -> list[str]:
    printed = io.StringIO()
    with redirect_stdout(printed):
        show()
    return [line.rstrip() for line in printed.getvalue().splitlines()]


def _groups(outlook: Outlook) -> dict[str, QuotaGroup]:
    """The groups as the reconciler writes them."""
    counts, found = Counts(), {}
    for name, group in outlook.given.world.tree.groups.items():
        record = GroupStatusRecord(name, 1, group, QuotaGroupStatus())
        status = status_of(record, outlook.given, {}, counts, NOW)
        spec = {"parent": group.parent, "isParent": group.is_parent}
        raw = {"metadata": {"name": name}, "spec": spec, "status": json.loads(msgspec.json.encode(status))}
        found[name] = read_quota_group(raw)
    return found


PICTURES = {"explain": _explanation, "pending": _pending, "tree": _tree}


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", PICTURES)
def test_terminal_of_any_width_shows_names_and_numbers(outlook: Outlook, command: str, columns: int) -> None:
    found = PICTURES[command](outlook, columns)
    assert max(map(len, found)) <= columns
    _compare(f"{command}-{columns}", found)


@pytest.mark.parametrize("command", PICTURES)
def test_terminal_without_unicode_shows_the_same(outlook: Outlook, command: str) -> None:
    found = [to_ascii(line) for line in PICTURES[command](outlook, 120)]
    assert all(line.isascii() for line in found)
    _compare(f"{command}-ascii", found)


def test_every_explanation_fits_on_a_screen_and_all_of_it_can_be_had(outlook: Outlook) -> None:
    for held in outlook.after.world.workload_sets.values():
        for each in held.by_id.values():
            data = _explained(outlook, each.id)
            assert len(screenful(data)) <= SCREENFUL
            named = {holder["workload"] for flavor in data["flavors"] for holder in flavor["holders"]}
            whole = "\n".join(lines(data))
            assert all(name in whole for name in named)


def _compare(name: str, found: list[str]) -> None:
    file = SCREENS / f"{name}.txt"
    if os.environ.get("QUOTREE_SCREENS"):
        file.write_text("\n".join(found) + "\n")
    assert found == file.read_text().splitlines()
