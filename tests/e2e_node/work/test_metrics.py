"""The metrics of both processes, read as Prometheus does: from each pod, with the token of an account that may."""

import pytest

from tests.e2e_node.site import Site

FAMILIES = {"webhook": "quotree_webhook_reviews_total", "reconciler": "quotree_leader"}


@pytest.mark.parametrize("component", FAMILIES)
def test_account_with_the_metrics_role_can_read_metrics(clean: Site, component: str) -> None:
    for pod in clean.pods(component):
        status, text = clean.scrape(pod, clean.scraper())
        assert (status, FAMILIES[component] in text) == (200, True)


@pytest.mark.parametrize("component", FAMILIES)
def test_other_accounts_cannot_read_metrics(clean: Site, component: str) -> None:
    nobody = clean.kubectl("create", "token", "default", "--duration=1h").strip()
    for pod in clean.pods(component):
        assert [clean.scrape(pod, token)[0] for token in ("", "wrong", nobody)] == [401, 401, 403]
