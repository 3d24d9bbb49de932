"""Worlds for pages: an organisation as the README shows it, a very large one, and one with hostile names."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Final

from dashboard.view.frame import Frame
from shared.api.owner_settings import OwnRunTime
from shared.api.quotagroup import QuotaGroupStatus
from shared.quota.measure.accounts.amounts import Account, GroupAccount, PeriodAccount
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.accounts.written_accounts import write_account
from shared.quota.measure.inputs.world import World
from shared.quota.model.in_force import DatedTree
from shared.quota.model.tree import Entry, Group, Override, Tree, Window
from shared.quota.outlook.simulate.run import run
from shared.resources import FlavorResource
from tests.builders import NOW, after, pending, running, world
from tests.dashboard.site import frame_of

_ORGANISATION: Final = """
root 36
  production/ 21
    ads 11
    search 10
  research/ 15
    language 5..30 w2
    vision/ 9
      vision-eval 3
      vision-train 6
"""
_GPU: Final = FlavorResource("default", "gpu")
_HOUR: Final = 3_600_000
SCRIPT: Final = "<script>window.hurt=1</script>"
IMAGE: Final = "<img src=x onerror=window.hurt=1>"
REVERSED: Final = "\u202eesrever\u05d0\u05d1"
LONG: Final = "n" * 63
GROUPS: Final = 500
WAITING: Final = 10_000


def organisation() -> Frame:
    """Research borrows what production leaves idle, and more waits than fits."""
    return frame_of(_organisation())


def past_of_organisation() -> Iterator[Frame]:
    """What the dashboard has seen of it in half an hour: its running and waiting Jobs as they came."""
    now = _organisation()
    every = [each for workloads in now.workload_sets.values() for each in workloads.by_id.values()]
    for number, seconds in enumerate(range(-1800, 0, 15), 1):
        before = [each for each in every if (each.admission.since if each.admission else each.queued) <= after(seconds)]
        yield frame_of(world(_ORGANISATION, before), number, after(seconds))


def timed() -> Frame:
    """The organisation, of which two groups say something else for a time."""
    tree = world(_ORGANISATION, ()).tree
    release = Override(after(86_400), after(4 * 86_400), (Entry("default", min={"gpu": 9}),), reason="release week")
    night = Window("0 20 * * *", timedelta(hours=10), quotas=(Entry("default", max={"gpu": 20}),))
    tree = tree.with_group(replace(tree["ads"], overrides=(release,)))
    tree = tree.with_group(replace(tree["language"], windows=(night,)))
    return frame_of(world(_ORGANISATION, ()).with_tree(DatedTree.at(tree, NOW)))


def declared() -> Frame:
    """The organisation, of whose workloads all but those of production say how long they run."""
    every = [each for workloads in _organisation().workload_sets.values() for each in workloads.by_id.values()]
    changes = [
        (each, replace(each, run_time=OwnRunTime(timedelta(hours=3))))
        for each in every
        if each.group not in {"search", "ads"}
    ]
    return frame_of(_organisation().with_changes(changes))


def accounted() -> Frame:
    """The organisation with two months of accounts; language borrowed a third of what it used in the second."""
    used = {"language": 900, "vision-train": 600, "vision-eval": 0, "vision": 600, "research": 1500, "root": 1500}
    months = {
        name: {
            "2025-12": {_GPU: Account(hours * _HOUR // 2)},
            "2026-01": {_GPU: Account(hours * _HOUR, hours * _HOUR // 3)},
        }
        for name, hours in used.items()
    }
    of_namespaces = {"language": {"lm": {_GPU: 899 * _HOUR}, "": {_GPU: _HOUR}}}
    statuses = {}
    for name, periods in months.items():
        account = {month: PeriodAccount(keys, of_namespaces.get(name, {})) for month, keys in periods.items()}
        written, until = write_account(GroupAccount(milliseconds(NOW), account))
        statuses[name] = QuotaGroupStatus(accounts=written, accounted_until=until)
    return frame_of(_organisation(), statuses=statuses)


@cache
def _organisation() -> World:
    workloads = [
        *(running("language", 2, f"lm-{number}", since=after(-600 - number)) for number in range(6)),
        *(running("vision-train", 2, f"train-{number}", since=after(-900 - number)) for number in range(6)),
        *(running("vision-eval", 1, f"eval-{number}", since=after(-60 - number)) for number in range(5)),
        running("search", 4, "index", since=after(-7200)),
        running("ads", 2, "bids", since=after(-5000)),
        *(pending("vision-eval", 2, f"check-{number}", queued=after(-300 + number)) for number in range(9)),
        *(pending("vision-train", 4, f"large-{number}", queued=after(-200 + number)) for number in range(4)),
        *(pending("language", 8, f"pretrain-{number}", queued=after(-100 + number)) for number in range(3)),
    ]
    return run(world(_ORGANISATION, workloads), NOW).world


def large(number: int = 1) -> Frame:
    """500 groups and 10,000 waiting Jobs; `number` moves one Job in each of ten groups."""
    found = _large_world()
    changed = [
        (None, pending(f"team-{(number * 10 + each) % 475:03}", 4, f"new-{number}-{each}")) for each in range(10)
    ]
    return frame_of(found.with_changes(changed), number)


_known: list[World] = []


def _large_world() -> World:
    if not _known:
        divisions = [Group(f"division-{each:02}", is_parent=True) for each in range(25)]
        lines = ["root 1000"]
        for division in range(25):
            lines.append(f"  division-{division:02}/ 40")
            own = range(division, GROUPS, 25)
            lines += [f"    team-{team:03} 1..4" for team in own if team < GROUPS - len(divisions)]
        teams = [line.split()[0] for line in lines if "team-" in line]
        waiting = [
            pending(teams[each % len(teams)], 4, f"wait-{each:05}", queued=after(each)) for each in range(WAITING)
        ]
        busy = [running(team, 2, f"run-{team}") for team in teams]
        _known.append(world("\n".join(lines), [*waiting, *busy]))
    return _known[0]


def hostile() -> Frame:
    """Names that no API server would accept, and those that it would but a page might not expect."""
    groups = [Group("root", None, is_parent=True)]
    names = (SCRIPT, IMAGE, REVERSED, LONG, "constructor", "__proto__", "../../api/group", "%2e%2e")
    quotas = world("root 8\n  a 1").tree["a"].quotas
    groups += [Group(name, quotas=quotas) for name in names]
    tree = Tree.of([replace(groups[0], quotas=world("root 8").tree["root"].quotas), *groups[1:]])
    workloads = [
        replace(pending(group, 20, "x"), key=f"ns/{name}", kind="Job", uid=f"{group}{name}")
        for group in (SCRIPT, REVERSED)
        for name in (f"{group[:3]}{SCRIPT}", f"{group[:3]}{REVERSED}")
    ]
    return frame_of(world(tree, workloads), 1, NOW, notices=[f"nodes are not shown: {SCRIPT}{IMAGE}"])
