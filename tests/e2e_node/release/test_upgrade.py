"""helm upgrade while Jobs run and are created, and an upgrade that cannot work, rolled back."""

from tests.e2e_node.site import CHART, Site
from tests.e2e_node.stream import Stream

JOBS = tuple(f"steady-{number}" for number in range(3))


def test_upgrade_refuses_and_stops_no_job(clean: Site) -> None:
    pods = _running_jobs(clean)
    with Stream(clean) as asked:
        level = ["--set", "webhook.logLevel=debug", "--set", "reconciler.logLevel=debug"]
        clean.helm("upgrade", "quotree", CHART, "--wait", "--timeout", "180s", "--reset-then-reuse-values", *level)
        clean.until("the new pods are all there is", lambda: clean.ready("webhook") and clean.ready("reconciler"))

    clean.figures["helm upgrade with running Jobs"] = asked.summary()
    assert asked.refusals == []
    assert _pods(clean) == pods
    clean.submit("after-upgrade", "language", seconds=1)
    clean.until("the new version starts Jobs", lambda: clean.is_complete("after-upgrade"))


def test_broken_upgrade_is_rolled_back_without_an_outage(clean: Site) -> None:
    pods = _running_jobs(clean)
    with Stream(clean) as asked:
        bad = ["--set", "image.tag=does-not-exist", "--set", "image.pullPolicy=Never"]
        failed = clean.helm("upgrade", "quotree", CHART, "--wait", "--timeout", "20s", *bad, check=False)
        assert failed.returncode != 0
        clean.submit("meanwhile", "language", seconds=1)
        clean.until("Jobs start meanwhile", lambda: clean.is_complete("meanwhile"))
        clean.helm("rollback", "quotree", "--wait", "--timeout", "120s")
        clean.until("the old pods are all there is", lambda: clean.ready("webhook") and clean.ready("reconciler"))

    clean.figures["bad helm upgrade and rollback"] = asked.summary()
    assert asked.refusals == []
    assert _pods(clean) == pods


def _running_jobs(site: Site) -> dict[str, str]:
    for name in JOBS:
        site.submit(name, "vision")
    site.until("they run", lambda: site.running(*JOBS))
    return _pods(site)


def _pods(site: Site) -> dict[str, str]:
    """The pod of each Job, by its unique id: another one would mean that the Job was stopped."""
    return {name: site.pods_of(name)[0]["metadata"]["uid"] for name in JOBS}
