"""Answers in a running loop: kept for a second, computed aside, told as differences, and refused when too many wait."""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from reconciler.report.latest_plan import LatestPlan
from reconciler.state.cluster_state import ClusterState
from reconciler.visibility.answers import Answers
from reconciler.visibility.explained import Explanations
from reconciler.visibility.forked import ForkedWork, TooBusy
from reconciler.visibility.objects.kinds import EXPLANATION, PENDING
from reconciler.visibility.plans import Plans
from reconciler.visibility.requests import Selection, read_request
from reconciler.visibility.selected import Selected, digest_of
from reconciler.visibility.streams import watch_lines
from shared.api.group_selector import read_group_selector
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload
from tests.builders import NOW, pending, running, world

WATCH = "/apis/visibility.quotree.dev/v1alpha1/namespaces/ns/pendingworkloads"


FULL = (running("nlp", 4, "base"), running("vision", 4, "own"))


def decide(latest: LatestPlan, *workloads: Workload) -> None:
    snapshot = measure(world("root 8\n  vision 4\n  nlp 4", workloads), NOW)
    latest.show(snapshot, plan(snapshot))


def answers_of(latest: LatestPlan) -> Answers:
    return Answers(Plans(ClusterState(QuotaSettings()), latest), limit=timedelta(minutes=2))


def names(selected: Selected) -> list[str]:
    return [each["metadata"]["name"] for each in selected.items]


async def test_an_explanation_is_computed_in_a_child_with_its_remedies() -> None:
    latest = LatestPlan()
    decide(latest, running("nlp", 6, "base"), running("vision", 2, "one"), pending("vision", 3, "two"))
    answers = answers_of(latest)
    whole = await answers.select(Selection(EXPLANATION, "ns", "two"))
    (found,) = whole.items
    assert found["status"]["remediesTried"] is True
    assert "AddCapacity" in {each["do"] for each in found["status"]["remedies"]}
    assert names(await answers.select(Selection(EXPLANATION, "ns"))) == ["base", "one", "two"]
    assert names(await answers.select(Selection(EXPLANATION, "elsewhere"))) == []


class CountedWork(ForkedWork):
    """Counts the children."""

    count = 0

    async def run(self, lines: Callable[[], Iterator[bytes]]) -> list[bytes]:
        self.count += 1
        return await super().run(lines)


async def test_lists_that_are_asked_for_together_are_explained_by_one_child() -> None:
    latest = LatestPlan()
    elsewhere = replace(pending("nlp", 3, "three"), key="other/three")
    decide(latest, *FULL, pending("vision", 3, "two"), elsewhere)
    work = CountedWork(limit=timedelta(seconds=20), rest=timedelta())
    lists = Explanations(Plans(ClusterState(QuotaSettings()), latest), work, rest=timedelta())
    asked = [Selection(EXPLANATION, namespace) for namespace in ("ns", "other", "", "none")]
    found = [[each.key for each in wanted] for _, wanted in await asyncio.gather(*map(lists.of, asked))]
    assert found == [
        ["ns/base", "ns/own", "ns/two"], ["other/three"], ["ns/base", "ns/own", "ns/two", "other/three"], []
    ]  # fmt: skip
    assert work.count == 1


async def test_a_list_that_is_asked_for_next_is_answered_by_the_child_that_has_ended() -> None:
    latest = LatestPlan()
    elsewhere = replace(pending("nlp", 3, "three"), key="other/three")
    decide(latest, *FULL, pending("vision", 3, "two"), elsewhere)
    work = CountedWork(limit=timedelta(seconds=20), rest=timedelta())
    lists = Explanations(Plans(ClusterState(QuotaSettings()), latest), work, rest=timedelta(hours=1))
    found = [[each.key for each in (await lists.of(Selection(EXPLANATION, name)))[1]] for name in ("ns", "other")]
    assert found == [["ns/base", "ns/own", "ns/two"], ["other/three"]]
    assert work.count == 1


async def test_lists_of_one_moment_share_their_objects() -> None:
    latest = LatestPlan()
    decide(latest, *FULL, pending("vision", 3, "two"), pending("nlp", 3, "three"))
    answers = answers_of(latest)
    of_group = Selection(PENDING, groups=read_group_selector("quotree.dev/group=vision"))
    here, vision = [await answers.select(each) for each in (Selection(PENDING, "ns"), of_group)]
    assert (names(here), names(vision)) == (["three", "two"], ["two"])
    assert here.items[1] is vision.items[0]


async def test_equal_questions_within_a_second_are_computed_once() -> None:
    latest = LatestPlan()
    decide(latest, *FULL, pending("vision", 3, "two"))
    answers = answers_of(latest)
    first, second = await asyncio.gather(*(answers.select(Selection(PENDING, "ns")) for _ in range(2)))
    assert first is second
    assert names(first) == ["two"]


async def test_a_watch_tells_what_is_there_and_then_each_difference() -> None:
    latest = LatestPlan()
    decide(latest, *FULL, pending("vision", 3, "two"))
    request = read_request(WATCH, {"watch": "true", "timeoutSeconds": "20"}, "application/json")
    assert request is not None
    lines = watch_lines(answers_of(latest), request)

    async def next_event() -> tuple[str, str]:
        event: dict[str, Any] = msgspec.json.decode(await anext(lines))
        return event["type"], event["object"]["metadata"]["name"]

    assert await next_event() == ("ADDED", "two")
    decide(latest, *FULL, pending("vision", 4, "two"), pending("vision", 3, "three"))
    events = {await next_event(), await next_event()}
    assert events == {("MODIFIED", "two"), ("ADDED", "three")}
    decide(latest, *FULL, pending("vision", 3, "three"))
    assert await next_event() == ("DELETED", "two")


async def test_a_watch_from_the_listed_version_repeats_nothing() -> None:
    latest = LatestPlan()
    decide(latest, *FULL, pending("vision", 3, "two"))
    answers = answers_of(latest)
    version = (await answers.select(Selection(PENDING, "ns"))).version
    query = {"watch": "true", "timeoutSeconds": "1", "resourceVersion": version}
    request = read_request(WATCH, query, "application/json")
    assert request is not None
    assert [each async for each in watch_lines(answers, request)] == []


def test_when_and_by_whom_an_object_was_seen_makes_no_other_version() -> None:
    item = {"metadata": {"name": "a"}, "status": {"group": "x", "asOf": "1", "servedBy": "Leader"}}
    other = {"metadata": {"name": "a"}, "status": {"group": "x", "asOf": "2", "servedBy": "Follower"}}
    assert digest_of(item) == digest_of(other)


async def test_a_child_that_takes_too_long_is_ended_and_what_it_wrote_counts() -> None:
    def endless() -> Iterator[bytes]:
        yield b"%d" % os.getpid()
        while True:
            pass

    work = ForkedWork(limit=timedelta(seconds=0.3), rest=timedelta())
    (child,) = await work.run(endless)
    with pytest.raises(ProcessLookupError):
        os.kill(int(child), 0)


async def test_a_child_that_fails_gives_nothing_and_more_than_may_wait_are_refused() -> None:
    def fails() -> Iterator[bytes]:
        raise ValueError

    work = ForkedWork(limit=timedelta(seconds=5), rest=timedelta(seconds=0.1), most_waiting=2)
    results = await asyncio.gather(*(work.run(fails) for _ in range(3)), return_exceptions=True)
    assert results[:2] == [[], []]
    assert isinstance(results[2], TooBusy)
