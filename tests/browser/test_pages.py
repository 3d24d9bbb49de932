"""The pages in a browser: what they show, by keyboard alone, and that names are never more than text."""

import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Strict, shown
from tests.browser.worlds import (
    IMAGE,
    LONG,
    REVERSED,
    SCRIPT,
    accounted,
    declared,
    hostile,
    organisation,
    past_of_organisation,
    timed,
)
from tests.builders import NOW, pending, running, world
from tests.dashboard.site import frame_of

PAGES = [
    "#/",
    "#/groups",
    "#/workloads",
    "#/group/vision-eval",
    "#/group/research",
    "#/workload/Job/ns%2Fcheck-8",
    "#/workload/Job/ns%2Fbids",
    "#/nodes",
    "#/week",
    "#/accounts",
    "#/group/nobody",
]
SIZES = [360, 480, 640, 768, 1280, 1920]
"""Widths; 640 is a window of 1280 at 200 % zoom."""


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
        assert "token" not in page.url
        _go(page, "#/groups")
        expect(page.get_by_role("row", name=re.compile("vision-eval"))).to_contain_text("11 of 11")
        assert page.locator(".lines .line").count() == 9


def test_a_change_is_shown_without_reloading(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/groups")
        line = page.locator(".line", has=page.locator("a", has_text=re.compile("^ads$")))
        expect(line).to_contain_text("2")
        changed = organisation().world.with_changes([(None, running("ads", 5, "more"))])
        dashboard.show(frame_of(changed, 2))
        expect(line.locator(".cell").nth(2)).to_have_text("7")


def test_a_page_without_the_token_shows_nothing(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.site.origin)
        expect(page.locator("main")).to_contain_text("Open the address that `quotree dashboard` printed")
        page = strict.open(dashboard.address)
        expect(page.locator(".sentence")).to_contain_text("35 of 36 gpu")
        page.reload()
        expect(page.locator(".sentence")).to_contain_text("35 of 36 gpu")


def test_page_reports_that_its_process_has_ended(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator(".sentence")).to_contain_text("35 of 36 gpu")
        expect(page.locator("#live")).to_contain_text("live,")
    expect(page.locator("#live")).to_contain_text("as of ")
    expect(page.locator("#banner")).to_contain_text("The dashboard's process")
    expect(page.locator("#banner")).to_contain_text("this page shows the cluster as it was at")
    expect(page.locator(".sentence")).to_contain_text("35 of 36 gpu")


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_every_width_shows_every_page_without_scrolling_sideways(strict: Strict, width: int, scheme: str) -> None:
    with shown(*past_of_organisation(), organisation()) as dashboard:
        page = strict.open(dashboard.address, scheme, width=width, height=640)
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
        _go(page, "#/groups")
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
        assert grounds == {"light": "rgb(244, 246, 248)", "dark": "rgb(14, 18, 22)"}


def test_every_control_is_reachable_by_keyboard(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _tab_to(page, "nav-groups")
        page.keyboard.press("Enter")
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
        _tab_to(page, "Tree of groups")
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
        expect(page.locator(".sentence")).to_contain_text("Waits: ")
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
        _go(page, "#/groups")
        for name in (SCRIPT, IMAGE, REVERSED, LONG, "constructor", "__proto__"):
            expect(page.locator("bdi", has_text=name).first).to_be_visible()
        expect(page.locator("#notices")).to_contain_text(f"nodes are not shown: {SCRIPT}{IMAGE}")
        for group in (SCRIPT, IMAGE, REVERSED, "__proto__", "../../api/group", "%2e%2e"):
            page.locator("bdi").get_by_text(group, exact=True).first.click()
            expect(page.locator("h1")).to_have_text(f"Group {group}")
            expect(page.locator(".path")).to_contain_text(group)
            page.locator("#nav-groups").click()
        _go(page, "#/group/root")
        link = page.locator(".line a bdi").get_by_text(f"ns/<sc{SCRIPT}", exact=True)
        link.first.click()
        expect(page.locator("h1")).to_have_text(f"Job ns/<sc{SCRIPT}")
        assert page.evaluate("window.hurt") is None
        assert page.locator("main img, main script").count() == 0
        assert page.locator("script").count() == 1


def test_a_link_opens_in_a_new_tab_with_the_same_rights_and_the_same_key(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        page.locator("#key").select_option("default/gpu")
        _go(page, "#/groups?key=default%2Fgpu")
        link = page.get_by_role("link", name="vision-eval")
        assert link.get_attribute("href") == "#/group/vision-eval?key=default%2Fgpu"
        with page.context.expect_page() as opened:
            link.click(modifiers=["ControlOrMeta"])
        expect(opened.value.locator("h1")).to_have_text("Group vision-eval")
        expect(opened.value.locator(".figure").first).to_have_text("11")
        with page.context.expect_page() as opened:
            page.locator(".grid").focus()
            page.keyboard.press("Control+Enter")
        expect(opened.value.locator("h1")).to_have_text("Group vision-eval")
        pasted = page.context.new_page()
        pasted.goto(f"{dashboard.site.origin}/#/workload/Job/ns%2Fcheck-8")
        expect(pasted.locator("h1")).to_have_text("Job ns/check-8")
        expect(pasted.locator(".sentence")).to_contain_text("Waits: ")


def test_columns_sort_and_the_tree_comes_back(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/groups")
        lines = page.locator(".lines .line:visible")
        page.get_by_role("button", name="Borrowed").click()
        expect(page.get_by_role("columnheader", name="Borrowed")).to_have_attribute("aria-sort", "descending")
        expect(lines.nth(0)).to_contain_text(re.compile("vision|research"))
        page.get_by_role("button", name="Waiting").click()
        page.get_by_role("button", name="Waiting").click()
        expect(page.get_by_role("columnheader", name="Waiting")).to_have_attribute("aria-sort", "ascending")
        expect(lines.nth(0)).to_contain_text("ads")
        page.get_by_role("button", name="Group").click()
        expect(lines.nth(0)).to_contain_text("root")
        _go(page, "#/workloads")
        page.get_by_role("button", name="Waits for").click()
        expect(lines.nth(0)).to_contain_text("check-3")
        page.get_by_role("button", name="Waits for").click()
        expect(lines.nth(0)).to_contain_text("ns/lm-")


@pytest.mark.parametrize("width", [360, 480, 640])
def test_a_narrow_list_shows_name_bar_and_numbers(strict: Strict, width: int) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address, width=width, height=800)
        _go(page, "#/groups")
        line = page.locator(".lines .line:visible", has_text="vision-eval")
        for part in (
            line.locator("a"),
            line.locator(".bar"),
            line.get_by_text("11 of 11"),
            line.get_by_text("6", exact=True),
        ):
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        page.get_by_label("Order").select_option("pending")
        expect(page.locator(".lines .line:visible").first).to_contain_text("16")


def test_a_cut_text_is_shown_in_full_below_its_list(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address, width=480)
        _go(page, "#/group/vision-eval")
        expect(page.locator(".detail")).to_contain_text("runs when used falls to 34")
        page.locator(".lines .line:visible").nth(2).locator(".at-c").click()
        expect(page.locator(".detail")).to_contain_text("ns/check-5")
        page.locator(".grid").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".detail")).to_contain_text("ns/check-6")


def test_page_of_a_leaf_does_not_repeat_its_name_in_each_line(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/group/vision-eval")
        expect(page.get_by_role("row", name=re.compile("check-3"))).to_be_visible()
        assert page.locator(".lines").get_by_text("vision-eval", exact=True).count() == 0
        _go(page, "#/group/research")
        expect(page.locator(".lines").get_by_text("language", exact=True).first).to_be_visible()


def test_refused_edit_shows_the_rule_alone(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/group/vision-eval")
        page.locator("#edit-min").fill("9")
        page.get_by_role("button", name="What if?").click()
        answer = page.locator(".answer")
        expect(answer).to_contain_text("SumOfMinExceedsParent")
        assert answer.locator("li").count() == 1
        assert answer.locator("table").count() == 0


def test_a_remedy_is_tried_on_the_page(strict: Strict) -> None:
    limited = world("root 8\n  a 2..4 w0\n  b 6", [running("a", 2, "first"), pending("a", 4, "second")])
    with shown(frame_of(limited)) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/workload/Job/ns%2Fsecond")
        remedy = page.locator(".remedies li", has_text="raise max of a by 2")
        remedy.get_by_role("button", name="What if?").click(timeout=30_000)
        expect(remedy.locator(".answer")).to_contain_text("1 workload starts", timeout=30_000)
        remedy.locator(".answer").get_by_role("link", name="ns/second").click()
        expect(page.locator("h1")).to_have_text("Job ns/second")


def test_holders_of_what_a_workload_waits_for_are_links(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/workload/Job/ns%2Fcheck-8")
        page.get_by_role("link", name="ns/index").click()
        expect(page.locator("h1")).to_have_text("Job ns/index")
        expect(page.locator(".timeline")).to_contain_text("Started")
        expect(page.locator(".state")).to_have_text("Running")


def test_overview_says_the_state_in_one_sentence_and_follows_changes(strict: Strict) -> None:
    with shown(*past_of_organisation(), organisation()) as dashboard:
        page = strict.open(dashboard.address)
        says = page.locator(".sentence")
        use = "35 of 36 gpu of flavor default are in use (97 %), 15 of it borrowed"
        expect(says).to_have_text(f"{use}; 16 workloads wait, the longest for 4m57s.")
        assert page.locator(".headline .figure").all_text_contents() == ["36", "35", "15", "16"]
        assert page.locator(".headline .sparkline").count() == 4
        expect(page.locator(".chart svg text", has_text=re.compile("^40$"))).to_be_visible()
        dashboard.show(frame_of(organisation().world.with_changes([(None, running("ads", 1, "more"))]), 999))
        expect(says).to_contain_text("36 of 36 gpu")


def test_curves_begin_when_there_is_something_to_draw(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator("main")).to_contain_text("The curve begins a few seconds after the dashboard's process.")


def test_a_silent_process_is_noticed_by_the_page(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator("#live")).to_contain_text("live,")
        dashboard.hold_still(12)
        expect(page.locator("#banner")).to_contain_text("this page shows the cluster as it was at", timeout=15_000)
        expect(page.locator("#banner")).to_be_hidden(timeout=30_000)


def test_banner_says_since_when_no_reconciler_leads(strict: Strict) -> None:
    frame = organisation()
    with shown(replace(frame, leaderless_since=NOW)) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator("#banner")).to_contain_text("No reconciler leads since ")
        expect(page.locator("#live")).to_contain_text("live,")
        dashboard.show(replace(frame, number=2))
        expect(page.locator("#banner")).to_be_hidden()


def test_printed_page_has_no_controls(strict: Strict) -> None:
    with shown(*past_of_organisation(), organisation()) as dashboard:
        page = strict.open(dashboard.address)
        expect(page.locator(".sentence")).to_contain_text("35 of 36 gpu")
        page.emulate_media(media="print")
        expect(page.locator("#nav")).to_be_hidden()
        expect(page.locator("#key")).to_be_hidden()
        expect(page.locator(".chart")).to_be_visible()


def test_remedies_about_many_other_workloads_are_folded(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/workload/Job/ns%2Fcheck-3")
        folded = page.locator(".remedies summary", has_text=re.compile(r"when one ends of \d+ workloads"))
        folded.click(timeout=30_000)
        expect(page.locator(".remedies").get_by_text("when ns/index of search ends")).to_be_visible()
        assert page.locator(".remedies > li").count() < 8


def test_a_group_shows_its_expected_use_of_the_coming_day_or_says_why_not(strict: Strict) -> None:
    with shown(declared()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/group/vision-train")
        picture = page.get_by_role("img", name=re.compile("^Expected use of default.gpu by vision-train, from"))
        expect(picture).to_be_visible()
        expect(picture.locator("path.series")).to_have_count(3)
        expect(page.get_by_text("It lies between the two curves in 80 % of the cases.")).to_be_visible()
        _go(page, "#/group/search")
        expect(page.get_by_text("Not known: more than half of what its workloads use")).to_be_visible()
        expect(page.get_by_role("img", name=re.compile("^Expected use"))).to_have_count(0)


def test_the_slider_shows_what_groups_say_at_each_border_of_the_week(strict: Strict) -> None:
    with shown(timed()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/week")
        line = page.get_by_role("row", name=re.compile("^ads"))
        expect(line).to_contain_text("as it is written")
        borders = page.get_by_role("list", name="When another tree is in force").get_by_role("button")
        # Now, each of seven nights begins and ends, the override begins and ends.
        expect(borders).to_have_count(1 + 14 + 2)
        slider = page.get_by_role("slider", name="At")
        slider.fill(str(86_400 - 1))
        expect(line).to_contain_text("as it is written")
        slider.fill(str(86_400))
        expect(line).to_contain_text("spec.overrides[0] until 2026-01-05T00:00:00Z (release week)")
        expect(line.get_by_role("cell").nth(0)).to_have_text("9")
        expect(page.get_by_role("row", name=re.compile("^language"))).to_contain_text("spec.windows[0]")
        borders.nth(1).click()
        expect(page.get_by_role("row", name=re.compile("^language")).get_by_role("cell").nth(1)).to_have_text("20")
        expect(line).to_contain_text("as it is written")
        slider.focus()
        page.keyboard.press("End")
        expect(line).to_contain_text("as it is written")


def test_a_week_without_overrides_and_windows_says_so(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/week")
        expect(page.locator("main")).to_contain_text("the tree is the same all week")


def test_accounts_of_a_month_by_group_and_namespace(strict: Strict) -> None:
    with shown(accounted()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/accounts")
        line = page.get_by_role("row", name=re.compile("^language"))
        expect(line.get_by_role("cell").nth(1)).to_have_text("900.00")
        expect(line.get_by_role("cell").nth(3)).to_have_text("300.00")
        expect(line.get_by_role("cell").nth(6)).to_have_text("(parent) 300.00")
        assert [each.split()[0] for each in page.locator("tbody th").all_text_contents()[:4]] == [
            *("root", "research", "language", "vision"),
        ]
        expect(page.get_by_role("row", name=re.compile("^lm"))).to_contain_text("899.00")
        page.get_by_label("Month").select_option("2025-12")
        expect(line.get_by_role("cell").nth(1)).to_have_text("450.00")
        dashboard.show(replace(accounted(), number=2, groups=organisation().groups))
        expect(page.locator(".sentence")).to_contain_text("period '2025-12' has no accounts")


def test_without_accounts_the_page_says_when_there_will_be_some(strict: Strict) -> None:
    with shown(organisation()) as dashboard:
        page = strict.open(dashboard.address)
        _go(page, "#/accounts")
        expect(page.locator("main")).to_contain_text("No group has accounts yet")
        expect(page.get_by_label("Month")).to_be_disabled()
