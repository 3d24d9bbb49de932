"""The pages in a browser: what they show, by keyboard alone, and that names are never more than text."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Strict, shown
from tests.browser.worlds import IMAGE, LONG, REVERSED, SCRIPT, hostile, organisation
from tests.builders import running
from tests.dashboard.site import frame_of

PAGES = ["#/", "#/group/vision-eval", "#/group/research", "#/workload/Job/ns%2Fcheck-8", "#/nodes", "#/group/nobody"]


def _go(page: Page, address: str) -> None:
    page.evaluate("address => { location.hash = address }", address)
    expect(page.locator("h1")).to_be_visible()


def _focused(page: Page) -> str:
    found: str = page.evaluate(
        "() => { const a = document.activeElement; return a.id || a.getAttribute('aria-label') || a.textContent }"
    )
    return found


def test_tree_has_a_line_for_every_group(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.get_by_role("row", name=re.compile("vision-eval"))).to_contain_text("default/gpu")
        assert page.locator(".lines .line").count() == 9
        assert "token" not in page.url


def test_a_change_is_shown_without_reloading(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        line = page.locator(".line", has=page.locator("a", has_text=re.compile("^ads$")))
        expect(line).to_contain_text("2")
        changed = organisation().world.with_changes([(None, running("ads", 5, "more"))])
        dashboard.show(frame_of(changed, 2))
        expect(line.locator(".cell").nth(5)).to_have_text("7")


def test_a_page_without_the_token_shows_nothing(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.site.origin)
        expect(page.locator("main")).to_contain_text("Open the address that `quotree dashboard` printed")
        page = strict.open(dashboard.address)
        expect(page.locator(".line").nth(3)).to_be_visible()
        page.reload()
        expect(page.locator(".line").nth(3)).to_be_visible()


def test_page_reports_that_its_process_has_ended(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator("#live")).to_contain_text("live,")
    expect(page.locator("#live")).to_have_text("not live")
    expect(page.locator("#notices")).to_contain_text("the dashboard's process")
    expect(page.locator(".line").nth(3)).to_be_visible()


def test_another_site_in_the_same_browser_can_read_nothing(strict: Strict) -> None:
    with shown(organisation()) as dashboard, shown(organisation()) as other:
        page = strict.open(other.address)
        tries = """async ([url, token]) => {
            const found = [];
            for (const mode of ["cors", "no-cors"]) {
                try {
                    const answer = await fetch(url, {mode, headers: mode === "cors" ? {Authorization: token} : {}});
                    found.push(await answer.text());
                } catch (error) { found.push("refused") }
            }
            return found;
        }"""
        page.goto("about:blank")
        url = f"{dashboard.site.origin}/api/group?name=ads"
        read = page.evaluate(tries, [url, f"Bearer {dashboard.site.guard.token}"])
        assert all(text in ("refused", "") for text in read), read
        strict.complaints.clear()  # the browser says what it refused


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_accessibility_violation_on_any_page(strict: Strict, scheme: str) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address, scheme)
        for address in PAGES:
            _go(page, address)
            page.wait_for_timeout(700)
            found = Axe().run(page).response["violations"]
            assert [(address, each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("width", [360, 800])
def test_a_narrow_window_shows_every_page_without_scrolling_sideways(strict: Strict, width: int) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address, width=width, height=640)
        for address in PAGES:
            _go(page, address)
            page.wait_for_timeout(700)
            beyond = page.evaluate(
                "[document.documentElement, main].map((each) => each.scrollWidth - each.clientWidth)"
            )
            assert (address, beyond) == (address, [0, 0])


def test_search_ignores_case_and_spaces_around(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        page.locator("#filter").fill(" Vision-Eval ")
        expect(page.locator(".lines .line:visible")).to_have_count(1)
        _go(page, "#/group/vision")
        page.locator("#filter").fill("CHECK-8")
        expect(page.locator(".count")).to_have_text("1 waiting")


def test_dark_mode_follows_the_system(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        grounds = {
            scheme: strict.open(dashboard.address, scheme).evaluate("getComputedStyle(document.body).backgroundColor")
            for scheme in ("light", "dark")
        }
        assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}


def test_every_control_is_reachable_by_keyboard(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator(".line").nth(8)).to_be_visible()
        assert _focused(page) == "Tree of groups"
        page.keyboard.press("End")
        expect(page.locator(".cursor")).to_contain_text("vision-train")
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".cursor")).to_contain_text("vision")
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".lines .line:visible")).to_have_count(7)
        page.keyboard.press("ArrowRight")
        expect(page.locator(".lines .line:visible")).to_have_count(9)
        page.keyboard.press("/")
        assert _focused(page) == "filter"
        page.keyboard.type("eval")
        expect(page.locator(".lines .line:visible")).to_have_count(1)
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert _focused(page) == "Tree of groups"
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Group vision-eval")
        _tab_to(page, "tab-pending")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("grid", name="Running workloads of vision-eval")).to_be_visible()
        page.keyboard.press("ArrowLeft")
        _tab_to(page, "Waiting workloads of vision-eval")
        expect(page.locator(".cursor")).to_contain_text("check-3")
        page.keyboard.press("ArrowDown")
        _tab_to(page, "edit-min")
        page.keyboard.press("Control+A")
        page.keyboard.type("9")
        page.keyboard.press("Enter")
        expect(page.locator(".answer")).to_contain_text("SumOfMinExceedsParent")
        page.keyboard.press("Shift+Tab")
        _tab_to(page, "Waiting workloads of vision-eval", "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Job ns/check-4")
        expect(page.locator(".lines-of-text li").first).to_contain_text("Job 'ns/check-4' waits: ")
        _tab_to(page, "nav-nodes", "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Flavors and nodes")


def _tab_to(page: Page, wanted: str, key: str = "Tab") -> None:
    for _ in range(60):
        if _focused(page) == wanted:
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} is not reached by {key}; the last was {_focused(page)}")


def test_hostile_names_are_shown_as_text(strict: Strict) -> None:
    with shown(hostile()) as dashboard:
        page = strict.open(dashboard.address)
        for name in (SCRIPT, IMAGE, REVERSED, LONG, "constructor", "__proto__"):
            expect(page.locator("bdi", has_text=name).first).to_be_visible()
        expect(page.locator("#notices")).to_contain_text(f"nodes are not shown: {SCRIPT}{IMAGE}")
        for group in (SCRIPT, IMAGE, REVERSED, "__proto__", "../../api/group", "%2e%2e"):
            page.locator("bdi").get_by_text(group, exact=True).first.click()
            expect(page.locator("h1")).to_have_text(f"Group {group}")
            expect(page.locator(".path")).to_contain_text(group)
            page.locator("#nav-tree").click()
        _go(page, "#/group/root")
        link = page.locator(".line a bdi").get_by_text(f"ns/<sc{SCRIPT}", exact=True)
        link.click()
        expect(page.locator("h1")).to_have_text(f"Job ns/<sc{SCRIPT}")
        assert page.evaluate("window.hurt") is None
        assert page.locator("img, main script").count() == 0
        assert page.locator("script").count() == 1
