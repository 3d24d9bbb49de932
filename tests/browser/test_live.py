"""The command on a real control plane, seen in a browser."""

import asyncio
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from playwright.sync_api import Browser, expect

from benchmarks.jobs import create_all, job
from dev.controlplane.quotree import Quotree
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from tests.browser.conftest import Strict
from tests.browser.measuring import traced
from tests.browser.proxy import proxied
from tests.dashboard.in_cluster import in_cluster, token_of
from tests.dashboard.site import commanded, start
from tests.e2e.kubectl_steps import Asking
from tests.summary import note

pytestmark = pytest.mark.apiserver
DIVISIONS: Final = 25
TEAMS: Final = 475
GROUPS: Final = DIVISIONS + TEAMS
WAITING: Final = 10_100
"""A few of them start."""
PATIENCE: Final = 60_000
PROMISED: Final = 2.0
"""Seconds from a change in the cluster to its sight, as docs/dashboard.md says."""


def test_workload_page_says_what_explain_says(quotree: Quotree, ask: Asking, strict: Strict) -> None:
    start(ask, "fills", "vision", 6)
    ask.submit("waits", "language", 5)
    with commanded(quotree.cluster.kubeconfig) as address:
        page = strict.open(address)
        expect(page.locator("#live")).to_contain_text("live,", timeout=PATIENCE)
        page.evaluate("location.hash = '#/workload/Job/default%2Fwaits'")
        expect(page.locator(".remedies li").first).to_be_visible(timeout=PATIENCE)
        printed = quotree.command("explain", "default/waits", "-o", "json")
        sentence = page.locator(".sentence").text_content() or ""
        assert sentence.removeprefix("Waits: ") in printed
        expect(page.get_by_role("link", name="default/fills")).to_be_visible()


def test_page_lists_for_a_tenant_what_it_cannot_read(ask: Asking, tenant: Path, strict: Strict) -> None:
    start(ask, "fills", "vision", 6)
    ask.submit("waits", "language", 5)
    with commanded(tenant, "--namespace=default") as address:
        page = strict.open(address)
        notices = page.locator("#notices")
        expect(notices).to_contain_text("nodes and the capacity are not shown: ", timeout=PATIENCE)
        expect(notices).to_contain_text('User "tenant" cannot watch resource "nodes"')
        page.get_by_role("link", name="Groups").click()
        page.get_by_role("link", name="language").click()
        expect(page.get_by_role("row", name="default/waits")).to_be_visible(timeout=PATIENCE)
        page.get_by_role("link", name="default/waits").first.click()
        expect(page.locator("main")).to_contain_text("this is what its last event says.")


def test_page_behind_a_proxy_updates_for_users_with_access(quotree: Quotree, ask: Asking, strict: Strict) -> None:
    start(ask, "fills", "vision", 6)
    allowed = token_of(quotree.cluster, "logged-in", sees_all=True)
    curious = token_of(quotree.cluster, "logged-in-too", sees_all=False)
    with in_cluster(quotree.cluster) as address:
        with proxied(address, allowed) as proxy:
            page = strict.open(proxy)
            expect(page.locator("#live")).to_contain_text("live,", timeout=PATIENCE)
            page.get_by_role("link", name="Groups").click()
            page.get_by_role("link", name="vision").click()
            page.get_by_role("tab", name="Running").click()
            expect(page.get_by_role("row", name="default/fills")).to_be_visible(timeout=PATIENCE)
        with proxied(address, curious) as proxy:
            page = strict.open(proxy)
            expect(page.locator("#banner")).to_contain_text("you cannot list all of them", timeout=PATIENCE)
            expect(page.locator(".headline")).to_have_count(0)


@pytest.mark.timeout(900)
def test_page_of_a_large_cluster_shows_a_change(
    quotree: Quotree, browser: Browser, strict: Strict, pytestconfig: pytest.Config
) -> None:
    _fill(quotree)
    with commanded(quotree.cluster.kubeconfig) as address:
        page = strict.open(address)
        page.evaluate("location.hash = '#/groups'")
        first = page.locator(".lines .line:visible").first.locator(".cell").nth(6)
        expect(first).to_have_text(re.compile(r"^\d{5}$"), timeout=PATIENCE)
        # Until everything is read, the numbers are those of the statuses.
        expect(page.locator("#live")).to_contain_text("live,", timeout=PATIENCE)
        page.locator("#filter").fill("team-007")
        expect(page.locator(".lines .line:visible")).to_have_count(1)
        before = int(first.text_content() or "")
        seconds = []
        with traced(browser, page) as tasks:
            for number in range(1, 6):
                quotree.cluster.rest.request("POST", JOBS.path("default"), _job(f"late-{number}", "team-007"))
                began = time.monotonic()
                expect(first).to_have_text(str(before + number), timeout=20_000)
                seconds.append(round(time.monotonic() - began, 2))
            page.locator("#filter").fill("")
            streaming = [_job(f"more-{each}", f"team-{each:03}") for each in range(200)]
            creating = _create(quotree, streaming)
            while not creating.done():
                page.keyboard.press("PageDown")
                page.wait_for_timeout(100)
            creating.result()
        note(pytestconfig, f"{GROUPS} groups, {WAITING} Jobs: seen after {seconds} s; {tasks}")
        assert max(seconds) <= PROMISED
        assert [each for each in tasks.computed if each > 100] == []


def _fill(quotree: Quotree) -> None:
    groups = [_group(f"division-{each:02}", "root", 20, is_parent=True) for each in range(DIVISIONS)]
    groups += [_group(f"team-{each:03}", f"division-{each % DIVISIONS:02}", 1) for each in range(TEAMS)]
    text = yaml.dump_all(groups, Dumper=yaml.CSafeDumper)
    quotree.cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
    bodies = [_job(f"wait-{each:05}", f"team-{each % TEAMS:03}") for each in range(WAITING)]
    _create(quotree, bodies).result()


def _group(name: str, parent: str, cpu: int, *, is_parent: bool = False) -> dict[str, object]:
    spec = {"parent": parent, "isParent": is_parent, "quotas": [{"min": {"cpu": cpu}}]}
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


def _job(name: str, group: str) -> dict[str, Any]:
    return job(name, {"quotree.dev/group": group}, {"cpu": "6"})


def _create(quotree: Quotree, bodies: list[dict[str, Any]]) -> Future[None]:
    """Create them in a thread: Playwright has a running event loop in this one."""
    pool = ThreadPoolExecutor(1)
    created = pool.submit(lambda: asyncio.run(_create_all(quotree, bodies)))
    pool.shutdown(wait=False)
    return created


async def _create_all(quotree: Quotree, bodies: list[dict[str, Any]]) -> None:
    async with connected(ConnectionSettings(kubeconfig=str(quotree.cluster.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(seconds=60))
        await create_all(client, JOBS, bodies, "default", 16)
