"""Answers in a running loop: from real copies, cached as long as these, watched, refused if too many wait."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.copies.asking import LongQuestions, NotAnswered, SharedCopy, TooBusy
from reconciler.visibility.copies.plans import current_plan
from reconciler.visibility.copies.questions import CopyQuestion
from reconciler.visibility.front.answers.forecasts import ListedForecasts
from reconciler.visibility.front.answers.objects import Answers
from reconciler.visibility.front.answers.selected import Selected, digest_of
from reconciler.visibility.front.answers.streams import watch_lines
from reconciler.visibility.front.requests import read_request
from reconciler.visibility.objects.kinds import EXPLANATION, GROUPS, PENDING
from reconciler.visibility.objects.selection import Selection
from shared.api.group_selector import read_group_selector
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload
from tests.builders import NOW, pending, running, world
from tests.reconciler.visibility.copied import copied, copies_that
from tests.shared.kube.servers import eventually, until

WATCH = "/apis/visibility.quotree.dev/v1alpha1/namespaces/ns/pendingworkloads"


FULL = (running("nlp", 4, "base"), running("vision", 4, "own"))


def decide(latest: LatestPlan, *workloads: Workload) -> None:
    snapshot = measure(world("root 8\n  vision 4\n  nlp 4", workloads), NOW)
    latest.show(snapshot, plan(snapshot))


def decided(*workloads: Workload) -> LatestPlan:
    latest = LatestPlan()
    decide(latest, *workloads)
    return latest


def names(selected: Selected) -> list[str]:
    return [each["metadata"]["name"] for each in selected.items]


def test_follower_says_since_when_no_reconciler_leads() -> None:
    found = current_plan(ClusterState(QuotaSettings()), LatestPlan(), NOW, NOW)
    assert (found.outlook.leaderless_since, found.leads) == (NOW, False)


async def test_single_explanation_has_remedies_and_a_list_has_none() -> None:
    latest = decided(running("nlp", 6, "base"), running("vision", 2, "one"), pending("vision", 3, "two"))
    async with copied(latest) as control:
        answers = Answers(control)
        (found,) = (await answers.select(Selection(EXPLANATION, "ns", "two"))).items
        assert found["status"]["remediesTried"] is True
        assert "AddCapacity" in {each["do"] for each in found["status"]["remedies"]}
        assert found["status"]["forecast"] == {"unknown": "RunTimesUnknown", "endless": 2, "runs": "0/9"}
        listed = await answers.select(Selection(EXPLANATION, "ns"))
        assert names(listed) == ["base", "one", "two"]
        assert {each["status"]["remediesTried"] for each in listed.items} == {False}
        assert names(await answers.select(Selection(EXPLANATION, "elsewhere"))) == []
        assert names(await answers.select(Selection(EXPLANATION, "ns", "nope"))) == []


async def test_lists_have_forecasts_once_a_copy_has_computed_them() -> None:
    waiting = (pending("vision", 3, "two"), replace(pending("nlp", 3, "three"), key="other/three"))
    # Each list has a copy of its own, and on a loaded machine copies end late.
    async with copied(decided(*FULL, *waiting), most=100) as control:
        answers = Answers(control, lasts=timedelta())

        async def forecasts(selection: Selection) -> dict[str, Any]:
            items = (await answers.select(selection)).items
            return {each["metadata"]["name"]: each["status"].get("forecast") for each in items}

        await answers.select(Selection(GROUPS))
        assert await forecasts(Selection(PENDING)) == {"three": None, "two": None}
        await eventually(lambda: forecasts(Selection(PENDING)), lambda found: all(found.values()))
        unknown = {"unknown": "RunTimesUnknown", "endless": 2, "runs": "0/9"}
        assert await forecasts(Selection(PENDING, "other")) == {"three": unknown}
        assert await forecasts(Selection(EXPLANATION, "ns")) == {"base": None, "own": None, "two": unknown}


async def test_forecasts_are_computed_once_in_a_while_and_forgotten_when_that_fails() -> None:
    asked = list[int]()

    def answer(_: bytes) -> Iterator[bytes]:
        if len(asked) > 1:
            raise ValueError
        yield b'{"ns":{"two":{"unknown":"TooFar"}}}'

    async with copies_that(answer) as control:
        passing, lasting = ListedForecasts(control, timedelta()), ListedForecasts(control, timedelta(hours=1))
        assert (passing.latest(), lasting.latest()) == ({}, {})
        await until(lambda: {} not in (passing.latest(), lasting.latest()))
        asked += [1, 2]
        await until(lambda: passing.latest() == {})
        assert lasting.latest() == {("ns", "two"): {"unknown": "TooFar"}}


async def test_each_list_contains_the_selected_objects() -> None:
    elsewhere = replace(pending("nlp", 3, "three"), key="other/three")
    async with copied(decided(*FULL, pending("vision", 3, "two"), elsewhere)) as control:
        answers = Answers(control)
        of_group = read_group_selector("quotree.dev/group=nlp")
        asked = [
            *(Selection(EXPLANATION, namespace) for namespace in ("ns", "other", "", "none")),
            *(Selection(PENDING, namespace) for namespace in ("ns", "other", "")),
            Selection(PENDING, groups=of_group),
            Selection(PENDING, "ns", "two"),
            Selection(GROUPS),
            Selection(GROUPS, groups=of_group),
        ]
        found = [names(each) for each in await asyncio.gather(*map(answers.select, asked))]
    assert found == [
        ["base", "own", "two"], ["three"], ["base", "own", "two", "three"], [],
        ["two"], ["three"], ["three", "two"], ["three"], ["two"],
        ["nlp", "root", "vision"], ["nlp"],
    ]  # fmt: skip


def pid_lines() -> Iterator[bytes]:
    yield b"%d" % os.getpid()


async def test_lists_share_one_copy_until_it_is_too_old() -> None:
    async with copies_that(lambda _: pid_lines()) as control:
        lasting, passing = SharedCopy(control, timedelta(hours=1)), SharedCopy(control, timedelta())
        for shared, count in ((lasting, 1), (passing, 3)):
            found = [await shared.lines(shared.current(), CopyQuestion()) for _ in range(3)]
            assert len({line for (line,) in found}) == count


async def test_ended_copy_is_replaced() -> None:
    async with copies_that(lambda _: pid_lines()) as control:
        shared = SharedCopy(control)
        (first,) = await shared.lines(shared.current(), CopyQuestion())
        os.kill(int(first), 9)
        with pytest.raises(TooBusy):
            await shared.lines(shared.current(), CopyQuestion())
        (second,) = await shared.lines(shared.current(), CopyQuestion())
        assert first != second


async def test_overlapping_requests_are_served_in_turn() -> None:
    def answer(question: bytes) -> Iterator[bytes]:
        while b"slow" in question:
            yield b"more"
        yield b"done"

    async with copies_that(answer) as control:
        copy = control.make_copy()
        slow = asyncio.create_task(copy.ask(CopyQuestion("slow"), timedelta(seconds=60)))
        await asyncio.sleep(0)
        assert await copy.ask(CopyQuestion(), timedelta(seconds=60)) == [b"done", b""]
        assert not slow.done()
        slow.cancel()


async def test_lists_of_one_copy_share_their_objects() -> None:
    async with copied(decided(*FULL, pending("vision", 3, "two"), pending("nlp", 3, "three"))) as control:
        answers = Answers(control, lasts=timedelta(hours=1))
        of_group = Selection(PENDING, groups=read_group_selector("quotree.dev/group=vision"))
        here, vision = [await answers.select(each) for each in (Selection(PENDING, "ns"), of_group)]
        assert (names(here), names(vision)) == (["three", "two"], ["two"])
        assert here.items[1] is vision.items[0]


async def test_each_copy_computes_a_list_once() -> None:
    async with copied(decided(*FULL, pending("vision", 3, "two"))) as control:
        lasting, passing = Answers(control, lasts=timedelta(hours=1)), Answers(control, lasts=timedelta())
        here = Selection(PENDING, "ns")
        first, second = await asyncio.gather(lasting.select(here), lasting.select(here))
        assert first is second is await lasting.select(here)
        assert names(first) == ["two"]
        assert await passing.select(here) is not await passing.select(here)


async def test_list_of_groups_leaves_out_the_division_tables() -> None:
    async with copied(decided(*FULL)) as control:
        answers = Answers(control)
        listed = (await answers.select(Selection(GROUPS))).items
        (named,) = (await answers.select(Selection(GROUPS, name="vision"))).items
    assert [each["metadata"]["name"] for each in listed if "division" in each["status"]] == []
    assert named["metadata"]["name"] == "vision"
    assert sum(each["runtime"] for each in named["status"]["division"][0]["children"]) == 8


async def test_watch_sends_the_initial_objects_and_then_each_change() -> None:
    latest = decided(*FULL, pending("vision", 3, "two"))
    request = read_request(WATCH, {"watch": "true", "timeoutSeconds": "60"}, "application/json")
    assert request is not None
    async with copied(latest) as control:
        lines = watch_lines(Answers(control, lasts=timedelta()), request)

        async def next_event() -> tuple[str, str]:
            event: dict[str, Any] = msgspec.json.decode(await anext(lines))
            return event["type"], event["object"]["metadata"]["name"]

        assert await next_event() == ("ADDED", "two")
        decide(latest, *FULL, pending("vision", 4, "two"), pending("vision", 3, "three"))
        events = {await next_event(), await next_event()}
        assert events == {("MODIFIED", "two"), ("ADDED", "three")}
        decide(latest, *FULL, pending("vision", 3, "three"))
        assert await next_event() == ("DELETED", "two")


async def test_watch_from_the_listed_version_repeats_nothing() -> None:
    async with copied(decided(*FULL, pending("vision", 3, "two"))) as control:
        answers = Answers(control)
        version = (await answers.select(Selection(PENDING, "ns"))).version
        query = {"watch": "true", "timeoutSeconds": "1", "resourceVersion": version}
        request = read_request(WATCH, query, "application/json")
        assert request is not None
        assert [each async for each in watch_lines(answers, request)] == []


def test_observer_and_past_use_do_not_change_the_version() -> None:
    item = {"metadata": {"name": "a"}, "status": {"group": "x", "asOf": "1", "servedBy": "Leader", "pastUse": [1]}}
    other = {"metadata": {"name": "a"}, "status": {"group": "x", "asOf": "2", "servedBy": "Follower", "pastUse": [2]}}
    assert digest_of(item) == digest_of(other)


async def test_truncated_response_returns_its_first_part() -> None:
    def ends(_: bytes) -> Iterator[bytes]:
        yield b"first"
        os.kill(os.getpid(), 9)

    async with copies_that(ends) as control:
        assert await LongQuestions(control, limit=timedelta(seconds=60)).best(CopyQuestion()) == b"first"


async def test_late_response_is_abandoned() -> None:
    def slow(_: bytes) -> Iterator[bytes]:
        time.sleep(600)
        yield b"late"

    async with copies_that(slow) as control:
        with pytest.raises(TooBusy):
            await LongQuestions(control, limit=timedelta(seconds=0.2)).best(CopyQuestion())


async def test_internal_error_is_reported_and_requests_beyond_the_queue_are_refused() -> None:
    def fails(_: bytes) -> Iterator[bytes]:
        raise ValueError

    async with copies_that(fails) as control:
        work = LongQuestions(control, limit=timedelta(seconds=60), rest=timedelta(seconds=0.1), most=2)
        results = await asyncio.gather(*(work.best(CopyQuestion()) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in results] == [NotAnswered, NotAnswered, TooBusy]


async def test_number_of_copies_is_limited() -> None:
    async with copies_that(lambda _: pid_lines(), most=1) as control:
        first, second = control.make_copy(), control.make_copy()
        found = [await each.ask(CopyQuestion(), timedelta(seconds=60)) for each in (first, second)]
        assert [len(each) for each in found] == [2, 0]
