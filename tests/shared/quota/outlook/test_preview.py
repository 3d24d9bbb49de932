"""What is said of a workload before it is submitted happens when it is, and names what its owner could write."""

import pytest

from shared.json_data import Json
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload
from shared.quota.outlook.outlook import Outlook
from shared.quota.outlook.preview import previews, submitted
from shared.text.what_if import preview_lines
from tests.builders import NOW, pending, running, world
from tests.prove.previews import check


@pytest.mark.parametrize("seed", range(6))
def test_preview_is_what_happens_when_it_is_submitted(seed: int) -> None:
    assert check(seed)[1] == []


def test_test_worlds_have_previews() -> None:
    assert sum(check(seed)[0] for seed in range(2)) > 4


def preview(before: World, new: Workload) -> Json:
    after = before.with_changes([(None, new)])
    (found,) = previews(Outlook.of(after, NOW), submitted(before, after))
    return found


def test_start_names_its_flavor_and_whether_it_borrows() -> None:
    given = world("root 8\n  a 4\n  b 4")
    assert [*preview_lines([preview(given, pending("a", 2, "new"))])] == [
        "Job 'ns/new' would start now on default, within the runtime of its group"
    ]
    found = preview(world("root 8\n  a 0\n  b 8", [running("b", 2)]), pending("a", 2, "new"))
    assert found["starts"] == "Now"


def test_evictions_for_it_are_summed_by_group() -> None:
    found = preview(world("root 8\n  a 4\n  b 4", [running("b", 4, "x"), running("b", 4, "y")]), pending("a", 2, "new"))
    assert (found["starts"], found["reason"]) == ("Soon", "WaitingForEvictions")
    assert found["evicts"] == [{"group": "b", "workloads": 1, "request": {"gpu": 4}, "reason": "Reclaimed"}]
    assert "it would stop 1 workload of group b (4 gpu): Reclaimed" in [*preview_lines([found])]


def test_smaller_size_that_would_start_is_named() -> None:
    given = world("root 8\n  a 4\n  b 4", [running("b", 4, preemptible=False)])
    new = pending("a", 6, "new", pods=3)
    found = preview(given, new)
    assert (found["starts"], found["position"]) == ("Never", 1)
    smaller = [each for each in found["remedies"] if each["do"] in ("FewerPods", "ShrinkRequest")]
    assert [(each["do"], each["by"]) for each in smaller] == [("FewerPods", 1), ("ShrinkRequest", 2)]
    assert [*preview_lines([found])][-2:] == [
        "it would start if you run 1 fewer pod at a time: lower its parallelism",
        "it would start if you request 2 less of gpu: lower its parallelism, or replace it by one with smaller pods",
    ]
