"""The pictures of README and docs: made here, and current as long as the page lays out its parts as they show it.

`make browser PICTURES=1` makes them again. What is compared is the layout, not pixels: fonts differ between machines.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Strict, shown
from tests.browser.worlds import organisation, past_of_organisation
from tests.builders import NOW

PICTURES: Final = Path(__file__).parents[2] / "docs" / "pictures"
SHOTS: Final = {
    "dashboard-overview": "#/",
    "dashboard-group": "#/group/research",
    "dashboard-workload": "#/workload/Job/ns%2Flarge-0",
}
HEIGHTS: Final = {"dashboard-overview": 1020, "dashboard-group": 900, "dashboard-workload": 820}
SCHEMES: Final = ("light", "dark")
LARGEST: Final = 200_000
"""Bytes of one picture."""
_PARTS: Final = "h1, h2, th, [role=columnheader], svg text, li, .lines .line:not([hidden])"
_LAYOUT: Final = """parts => [...document.querySelectorAll(parts)]
    .filter((each) => each.getBoundingClientRect().top < innerHeight)
    .map((each) => [...each.childNodes].map((child) => child.textContent).join(" ").trim())"""


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", SHOTS)
def test_committed_picture_shows_the_current_page(strict: Strict, name: str, scheme: str) -> None:
    with shown(*past_of_organisation(), organisation()) as dashboard:
        page = strict.open(dashboard.address, scheme, width=1180, height=HEIGHTS[name], at=NOW)
        page.evaluate("address => { location.hash = address }", SHOTS[name])
        _settle(page, name)
        if os.environ.get("QUOTREE_PICTURES"):
            _keep(page, name, scheme)
        file = PICTURES / f"{name}-{scheme}.png"
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size < LARGEST
        stored = json.loads((PICTURES / f"{name}.json").read_text())
        assert _settled_layout(page, name, stored) == stored


def _settle(page: Page, name: str) -> None:
    expect(page.locator("h1")).to_be_visible()
    if name == "dashboard-workload":
        expect(page.locator(".remedies li").first).to_be_visible(timeout=30_000)
    else:
        expect(page.locator(".chart svg")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(800)


def _settled_layout(page: Page, name: str, stored: Any) -> Any:
    """The layout once it is as stored, or as it is after 15 s: lists are filled and figures drawn in several steps."""
    layout = None
    for _ in range(30):
        layout = page.evaluate(_LAYOUT, _PARTS)
        if layout == stored:
            break
        page.wait_for_timeout(500)
    return layout


def _keep(page: Page, name: str, scheme: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}-{scheme}.png")
    layout = page.evaluate(_LAYOUT, _PARTS)
    (PICTURES / f"{name}.json").write_text(json.dumps(layout, indent=1, ensure_ascii=False) + "\n")
