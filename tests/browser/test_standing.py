"""Whether the page is live: it says since when its data stands, and why, and goes on by itself.

On a control plane of its own: what runs on it does not all survive that its API server stops.
"""

import time
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from dev.controlplane.quotree import Quotree
from tests.browser.conftest import Strict
from tests.dashboard.site import commanded
from tests.summary import note

pytestmark = pytest.mark.apiserver
PATIENCE: Final = 60_000


def test_page_says_that_the_credentials_have_ended_and_goes_on_with_new_ones(quotree: Quotree, strict: Strict) -> None:
    cluster = quotree.cluster
    cluster.kubectl("create", "clusterrolebinding", "brief", "--clusterrole=view", "--serviceaccount=default:brief")
    kubeconfig = _brief_account(quotree)
    with commanded(kubeconfig, "--namespace=default") as address:
        page = strict.open(address)
        expect(page.locator("#live")).to_contain_text("live,", timeout=PATIENCE)
        cluster.kubectl("delete", "serviceaccount", "brief")
        banner = page.locator("#banner")
        expect(banner).to_contain_text("Your credentials are refused since ", timeout=PATIENCE)
        expect(banner).to_contain_text("log in again")
        kubeconfig.write_bytes(_brief_account(quotree).read_bytes())
        expect(banner).to_be_hidden(timeout=PATIENCE)
    cluster.kubectl("delete", "clusterrolebinding", "brief")


def test_page_says_since_when_the_api_server_is_silent_and_recovers(
    quotree: Quotree, strict: Strict, pytestconfig: pytest.Config
) -> None:
    server = quotree.cluster.processes["kube-apiserver"]
    with commanded(quotree.cluster.kubeconfig) as address:
        page = strict.open(address)
        expect(page.locator("#live")).to_contain_text("live,", timeout=PATIENCE)
        banner = page.locator("#banner")
        for stop, begin in ((server.freeze, server.thaw), (server.stop, server.restart)):
            stop()
            began = time.monotonic()
            try:
                expect(banner).to_contain_text("The API server does not answer: ", timeout=20_000)
                note(pytestconfig, f"{stop.__name__}: the page says so after {time.monotonic() - began:.1f} s")
                expect(banner).to_contain_text("this page shows the cluster as it was at")
                expect(page.locator("#live")).to_contain_text("as of ")
                expect(page.locator("#notices p")).to_have_count(0)
            finally:
                begin()
            expect(page.locator("#live")).to_contain_text("live,", timeout=PATIENCE)
            # On a slow machine the leader has ended meanwhile, and the banner says that none leads.
            expect(banner).not_to_contain_text("this page shows the cluster as it was at")


def _brief_account(quotree: Quotree) -> Path:
    quotree.cluster.kubectl("create", "serviceaccount", "brief")
    return quotree.cluster.service_account_kubeconfig("default", "brief")
