"""The live tree is drawn whole and aligned, with what is exceptional."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console

from cli.commands.top import by_use
from cli.render.tree import tree_at
from cli.render.tree.tree_at import lines
from cli.render.tree.tree_rows import Filter, as_data, rows
from cli.render.tree.tree_table import table
from shared.api.quotagroup import QuotaGroup, read_quota_group
from shared.quota.model.tree import Entry, Group, Override, StopPolicy, Tree, Window

GPU = "nvidia.com/gpu"


def _group(name: str, parent: str | None, status: dict[str, Any], **spec: Any) -> QuotaGroup:
    return read_quota_group({"metadata": {"name": name}, "spec": {"parent": parent, **spec}, "status": status})


def _status(pending: int, admitted: int, **quota: int) -> dict[str, Any]:
    quotas = [{"flavor": "a100", **{column: {GPU: str(amount)} for column, amount in quota.items()}}]
    return {"workloads": {"pending": pending, "admitted": admitted}, "quotas": quotas}


GROUPS = {
    group.metadata.name: group
    for group in (
        _group("root", None, _status(5, 2, used=10, runtime=16), isParent=True),
        _group("research", "root", _status(5, 2, min=12, used=10, runtime=12), isParent=True),
        _group("vision", "research", _status(4, 2, min=8, used=10, runtime=12, borrowed=2)),
        _group("nlp", "research", _status(1, 0, min=4)),
        _group("idle", None, _status(0, 0)),
        _group("lost", "absent", {"conditions": [{"type": "Active", "status": "False", "reason": "ParentNotFound"}]}),
    )
}


def _drawn(wanted: Filter, top: str = "root") -> list[str]:
    console = Console(width=120, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(table(list(rows(GROUPS, top, wanted)), None))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_the_whole_tree_is_drawn_with_unreachable_groups_last() -> None:
    assert _drawn(Filter()) == [
        "GROUP                   PENDING  FLAVOR/RESOURCE      MIN  USED  RUNTIME  BORROWED  USED OF RUNTIME",
        "root                          5  a100/nvidia.com/gpu    0    10       16            ██████████░░░░░░",
        "├─ idle                       0",
        "└─ research                   5  a100/nvidia.com/gpu   12    10       12            ██████████████░░",
        "   ├─ nlp                     1  a100/nvidia.com/gpu    4     0        0",
        "   └─ vision                  4  a100/nvidia.com/gpu    8    10       12         2  ███████████▓▓▓░░",
        "lost  (ParentNotFound)        0",
    ]


def test_numbers_are_whole_where_the_terminal_is_narrower_than_the_tree() -> None:
    large = 12_345_678
    groups = {"root": _group("root", None, _status(0, 1, used=large, runtime=large), isParent=True)}
    console = Console(width=30, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(table(list(rows(groups, "root", Filter())), 30))
    title, line = (each.rstrip() for each in capture.get().splitlines())
    assert line.endswith(f" {large}/{large}")
    assert len(title) <= 30


def test_percents_are_shown_with_their_amounts_where_nothing_is_left_out() -> None:
    shares = [
        {"limit": "min", "resource": GPU, "percent": "40%", "amount": "8"},
        {"limit": "weight", "resource": GPU, "percent": "1.5%"},
    ]
    status = _status(0, 0, min=8, runtime=8)
    group = _group("root", None, {**status, "quotas": [{**status["quotas"][0], "percents": shares}]})
    found = list(rows({"root": group}, "root", Filter()))
    wide, narrow = table(found, None), table(found, 200)
    assert [column.header for column in wide.columns][-2:] == ["PERCENTS", "USED OF RUNTIME"]
    assert [str(cell) for cell in wide.columns[-2].cells] == ["min 40% = 8, weight 1.5%"]
    assert "PERCENTS" not in [column.header for column in narrow.columns]
    assert as_data({"root": group}, "root", Filter())[0]["quotas"][0]["percents"] == [
        {"limit": "min", "percent": "40%", "amount": 8},
        {"limit": "weight", "percent": "1.5%"},
    ]


def test_busy_shows_only_groups_with_workloads_and_those_above_them() -> None:
    assert [row.name for row in rows(GROUPS, "root", Filter(only_busy=True))] == ["root", "research", "nlp", "vision"]


def test_depth_and_top_cut_the_tree() -> None:
    assert [row.name for row in rows(GROUPS, "research", Filter(depth=0))] == ["research"]
    assert [row.name for row in rows(GROUPS, "root", Filter(depth=1))] == ["root", "idle", "research", "lost"]


def test_groups_in_a_cycle_are_shown_once() -> None:
    groups = {
        "root": GROUPS["root"],
        "a": _group("a", "b", _status(0, 0), isParent=True),
        "b": _group("b", "a", _status(0, 0), isParent=True),
    }
    assert [row.name for row in rows(groups, "root", Filter())] == ["root", "a", "b"]


def test_json_output_has_exact_integers() -> None:
    assert as_data(GROUPS, "vision", Filter()) == [
        {
            "name": "vision",
            "parent": "research",
            "pending": 4,
            "note": "",
            "quotas": [
                {"flavor": "a100", "resource": GPU, "min": 8, "used": 10, "runtime": 12, "borrowed": 2},
            ],
        }
    ]


def test_top_lists_the_groups_with_most_use_first() -> None:
    found = [(each["group"], each["used"], each["percent"]) for each in by_use(GROUPS, Filter(), parents=False)]
    assert found == [("vision", 10, 62), ("nlp", 0, 0)]
    assert [each["group"] for each in by_use(GROUPS, Filter(), parents=True)] == ["research", "vision", "nlp"]


def _timed() -> Tree:
    start = datetime(2027, 1, 11, 8, tzinfo=UTC)
    release = Override(
        start, start + timedelta(days=4), (Entry("a100", min={GPU: 6}),), StopPolicy.CLOSE, reason="release"
    )
    night = Window("0 20 * * *", timedelta(hours=10), quotas=(Entry("a100", max={GPU: 16}),))
    vision = Group(
        "vision", "research", quotas=(Entry("a100", {GPU: 4}, {GPU: 8}),), overrides=(release,), windows=(night,)
    )
    return Tree.of((Group("research", is_parent=True, quotas=(Entry("a100", {GPU: 12}),)), vision))


def test_the_tree_at_a_moment_has_what_is_in_force_then() -> None:
    day, night = datetime(2027, 1, 10, 12, tzinfo=UTC), datetime(2027, 1, 11, 21, tzinfo=UTC)
    seen = {at: [*lines(_timed(), "research", at, None)] for at in (day, night)}
    (above, plain), (_, amended) = seen[day], seen[night]
    assert (above["name"], plain["name"], plain["min"], plain["max"], plain["stopPolicy"]) == (
        "research", "  vision", "4", "8", "",
    )  # fmt: skip
    assert (plain["amended"], amended["min"], amended["max"], amended["stopPolicy"]) == ("", "6", "16", "Close")
    assert amended["amended"] == (
        "spec.overrides[0] until 2027-01-15T08:00:00Z (release); spec.windows[0] until 2027-01-12T06:00:00Z"
    )
    assert [each["name"] for each in lines(_timed(), "root", day, 1)] == ["root", "  research"]


def test_the_tree_at_a_moment_is_exact_for_programs() -> None:
    (found,) = tree_at.as_data(_timed(), "vision", datetime(2027, 1, 11, 8, tzinfo=UTC), None)
    assert found == {
        "name": "vision",
        "parent": "research",
        "stopPolicy": "Close",
        "amended": "spec.overrides[0] until 2027-01-15T08:00:00Z (release)",
        "quotas": [{"flavor": "a100", "resource": GPU, "min": 6, "max": 8}],
    }


def test_the_tree_at_a_moment_shows_percents_as_they_are_written() -> None:
    share = Group("share", quotas=(Entry("a100", max={GPU: 8}, percents={"min": {GPU: 12_500}}),))
    now = datetime(2027, 1, 1, tzinfo=UTC)
    (line,) = lines(Tree.of((share,)), "share", now, None)
    assert (line["min"], line["max"]) == ("12.5%", "8")
    (found,) = tree_at.as_data(Tree.of((share,)), "share", now, None)
    assert found["quotas"] == [{"flavor": "a100", "resource": GPU, "min": "12.5%", "max": 8}]
