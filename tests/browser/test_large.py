"""500 groups and 10,000 waiting Jobs: no long task while data streams, and only visible lines are elements."""

from typing import Final

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browser.conftest import Strict, shown
from tests.browser.measuring import traced
from tests.browser.worlds import GROUPS, WAITING, large
from tests.summary import note

LONGEST: Final = 100
"""Milliseconds of processor time that the page takes at once, at most."""


def test_a_large_cluster_streams_without_a_long_task(
    browser: Browser, strict: Strict, pytestconfig: pytest.Config
) -> None:
    frames = [large(number) for number in range(1, 9)]
    with shown(frames[0]) as dashboard:
        page = strict.open(dashboard.address)
        page.evaluate("location.hash = '#/groups'")
        waiting = page.locator(".lines .line").first.locator(".cell").nth(6)
        expect(waiting).to_have_text(str(WAITING + 10), timeout=30_000)
        with traced(browser, page) as tree:
            for frame in frames[1:]:
                dashboard.show(frame)
                page.keyboard.press("PageDown")
                page.wait_for_timeout(400)
        page.evaluate("location.hash = '#/group/root'")
        expect(page.locator(".count")).to_have_text(f"{WAITING + 10} waiting", timeout=30_000)
        page.get_by_role("grid", name="Waiting workloads of root").focus()
        with traced(browser, page) as queue:
            for frame, key in zip(frames, ("End", "Home", *["PageDown"] * 6), strict=True):
                dashboard.show(frame)
                page.keyboard.press(key)
                page.wait_for_timeout(400)
        note(pytestconfig, f"{GROUPS} groups, {WAITING} waiting: tree: {tree}; queue: {queue}")
        assert page.locator(".line").count() < 120
        assert len(tree.computed) > 100
        assert [each for each in tree.computed + queue.computed if each > LONGEST] == []


def test_enter_waits_until_the_row_is_fetched(strict: Strict) -> None:
    with shown(large()) as dashboard:
        page = strict.open(dashboard.address)
        page.evaluate("location.hash = '#/group/root'")
        expect(page.locator(".count")).to_have_text(f"{WAITING + 10} waiting", timeout=30_000)
        page.get_by_role("grid", name="Waiting workloads of root").focus()
        page.keyboard.press("End")
        expect(page.locator(f"[aria-rowindex='{WAITING + 11}']")).to_contain_text("lacks")
        asked: list[Route] = []

        def keep(route: Route) -> None:
            asked.append(route)

        page.route("**/api/queue*text=wait-00012*first=0*", keep)
        page.locator("#filter").fill("wait-00012")
        expect(page.locator(".count")).to_have_text("1 waiting")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_timeout(300)
        expect(page.locator("h1")).to_have_text("Group root")
        assert asked
        for each in asked:
            each.continue_()
        expect(page.locator("h1")).to_have_text("Job ns/wait-00012", timeout=30_000)
        page.unroute_all(behavior="ignoreErrors")


def test_scrolling_reaches_the_last_of_ten_thousand_workloads(strict: Strict) -> None:
    with shown(large()) as dashboard:
        page = strict.open(dashboard.address)
        page.evaluate("location.hash = '#/group/root'")
        expect(page.locator(".count")).to_have_text(f"{WAITING + 10} waiting", timeout=30_000)
        page.get_by_role("grid", name="Waiting workloads of root").focus()
        page.keyboard.press("End")
        expect(page.locator(f"[aria-rowindex='{WAITING + 11}']")).to_contain_text("lacks")
        page.locator("#filter").fill("wait-00012")
        expect(page.locator(".count")).to_have_text("1 waiting")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Job ns/wait-00012", timeout=30_000)
