"""Jobs in real containers: held, started, borrowing, reclaimed although they ignore SIGTERM, finished."""

import yaml

from tests.e2e_node.site import STUBBORN, Site, job


def test_job_is_held_at_creation_then_started_and_completes(clean: Site) -> None:
    text = yaml.safe_dump(job("short", "vision"))
    as_created = clean.kubectl("create", "-f", "-", "--dry-run=server", "-o", "yaml", text=text)
    assert yaml.safe_load(as_created)["spec"]["suspend"] is True

    clean.submit("short", "vision", seconds=1)
    seconds = clean.until("it completes", lambda: clean.is_complete("short"))

    clean.figures["Job of a one-second container: created to complete"] = f"{seconds:.1f} s"


def test_a_job_that_does_not_fit_is_held_until_there_is_room(clean: Site) -> None:
    clean.submit("first", "vision", cpu="1000m")
    clean.until("the first runs", lambda: clean.running("first"))
    clean.submit("second", "vision", cpu="1000m", seconds=1)

    clean.until("the second is explained", lambda: _waits(clean, "second"))
    assert clean.is_held("second")
    assert clean.pods_of("second") == []

    clean.kubectl("delete", "job", "first", "--wait=false")
    clean.until("the second completes", lambda: clean.is_complete("second"))


def test_borrowing_jobs_are_reclaimed_even_if_they_ignore_sigterm(clean: Site) -> None:
    for number in range(7):
        clean.submit(f"borrower-{number}", "vision", program=STUBBORN, grace=3)
    names = [f"borrower-{number}" for number in range(7)]
    clean.until("vision uses the whole node", lambda: clean.running(*names))

    clean.submit("owner-0", "language")
    clean.submit("owner-1", "language")
    seconds = clean.until("language gets what it was promised", lambda: clean.running("owner-0", "owner-1"))

    held = [name for name in names if clean.is_held(name)]
    assert len(held) == 2, f"exactly what language needs is taken back, not {held}"
    clean.figures["reclaim from processes that ignore SIGTERM (grace 3 s): asked to running"] = f"{seconds:.1f} s"


def test_no_job_runs_without_admission(clean: Site) -> None:
    clean.submit("large", "vision", cpu="5")
    clean.until("it is explained", lambda: _waits(clean, "large"))

    started = clean.cluster.kubectl("patch", "job", "large", "-p", '{"spec":{"suspend":false}}', check=False)

    assert started.returncode != 0
    assert clean.is_held("large")


def _waits(site: Site, name: str) -> bool:
    """Whether an event has the reason why it waits."""
    return bool(site.get("events", "--field-selector", f"involvedObject.name={name}")["items"])
