"""No webhook pod at all: what Quotree does not manage runs as ever, and nothing managed slips through."""

from collections.abc import Iterator

import pytest

from tests.e2e_node.site import NAMESPACE, Site, job


@pytest.fixture
def without_webhook(clean: Site) -> Iterator[Site]:
    clean.submit("running", "vision")
    clean.until("it runs", lambda: clean.running("running"))
    _scale_to_none(clean)
    yield clean
    _scale(clean, 2)
    clean.until("the webhook is ready", lambda: clean.ready("webhook"))


def test_only_managed_objects_need_the_webhook(without_webhook: Site) -> None:
    site = without_webhook
    done = site.apply(job("free", None, seconds=1))
    assert done.returncode == 0, done.stderr
    site.until("a Job that Quotree does not manage completes", lambda: site.is_complete("free"))

    refused = site.apply(job("managed", "vision"))
    assert refused.returncode != 0
    assert "failed calling webhook" in refused.stderr
    assert site.running("running")


def test_jobs_are_accepted_again_when_the_webhook_is_back(clean: Site) -> None:
    _scale_to_none(clean)
    _scale(clean, 2)
    clean.until("the webhook is ready", lambda: clean.ready("webhook"))

    clean.until("a Job is accepted", lambda: clean.apply(job("managed", "vision", seconds=1)).returncode == 0)
    clean.until("it completes", lambda: clean.is_complete("managed"))


def _scale_to_none(site: Site) -> None:
    _scale(site, 0)
    site.until("no webhook pod is left", lambda: not site.pods("webhook"))


def _scale(site: Site, replicas: int) -> None:
    site.kubectl("scale", "deployment", "quotree-webhook", "-n", NAMESPACE, f"--replicas={replicas}")
