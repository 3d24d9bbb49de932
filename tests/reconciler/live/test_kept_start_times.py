"""A Kubernetes that keeps the start time of suspended Jobs, as all before 1.36 do, or with that feature gate off."""

from collections.abc import Iterator

import pytest

from dev.controlplane.programs import binaries, found
from tests.reconciler.live.nodes.test_flavors import (
    GROUPS,
    flavor_of,
    flavored,
    is_empty,
    knows_its_flavors,
    nodes_of,
    spec_of,
)
from tests.reconciler.reconciler_process import Quotree, eviction_of, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
RESETS_SINCE = (1, 36)


@pytest.fixture(scope="module")
def whole(control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quotree]:
    version = found.probed(control_plane_binaries.kube_apiserver).version
    assert version is not None
    off = ["--feature-gates=MutableSchedulingDirectivesForSuspendedJobs=false"] if version >= RESETS_SINCE else []
    with flavored(control_plane_binaries, tmp_path_factory.mktemp("start-times"), *off) as made:
        for name, spec in GROUPS.items():
            made.group(name, **spec)
        wait_for(lambda: knows_its_flavors(made), "the flavors are known, with their nodes", LONG)
        yield made


@pytest.fixture
def q(whole: Quotree) -> Iterator[Quotree]:
    """Without the Jobs of other tests."""
    yield whole
    whole.delete(JOBS)
    wait_for(lambda: not whole.jobs() and is_empty(whole, "vision") and is_empty(whole, "nlp"), "all is empty", LONG)


def has_stopped(q: Quotree, name: str) -> bool:
    """Whether the Job controller has noted that it is suspended, and its pods have ended."""
    status = q.get_job(name)["status"]
    noted = any((each["type"], each["status"]) == ("Suspended", "True") for each in status.get("conditions", []))
    return noted and not status.get("active") and not status.get("terminating")


def used(q: Quotree) -> dict[str, str]:
    return {each["flavor"]: each.get("used", {}).get("cpu", "") for each in q.group_status("vision").get("quotas", [])}


def test_reclaimed_job_restarts_in_the_next_flavor(q: Quotree) -> None:
    q.job("first", "vision", "2")
    wait_for(lambda: nodes_of(q, "first") == {"fast-0"}, "it runs on the fast node", LONG)
    q.job("second", "vision", "2")
    wait_for(lambda: nodes_of(q, "second") == {"fast-0"}, "it borrows the other fast half", LONG)
    q.job("lender", "nlp", "2")
    wait_for(lambda: nodes_of(q, "lender") == {"fast-0"}, "the lender has its half back", LONG)
    (victim,) = (name for name in ("first", "second") if eviction_of(q.get_job(name)) is not None)
    wait_for(lambda: nodes_of(q, victim) == {"slow-0"}, "the reclaimed one continues on the slow node", LONG)
    assert flavor_of(q, victim) == "slow"
    assert spec_of(q, victim) == ({"model": "slow"}, None)


def test_job_that_its_owner_stops_and_releases_starts_again(q: Quotree) -> None:
    q.job("own", "vision", "2")
    wait_for(lambda: nodes_of(q, "own") == {"fast-0"}, "it runs on the fast node", LONG)
    q.merge(f"{JOBS}/own", {"spec": {"suspend": True}})
    wait_for(lambda: has_stopped(q, "own") and "startTime" not in q.get_job("own")["status"], "it is reset", LONG)
    wait_for(lambda: used(q) == {"fast": "0", "slow": "0"}, "its pods are known to have ended", LONG)
    q.job("other", "vision", "4")
    wait_for(lambda: nodes_of(q, "other") == {"fast-0"}, "another takes all of the fast node", LONG)
    q.merge(f"{JOBS}/own", {"metadata": {"labels": {"quotree.dev/hold": None}}})
    wait_for(lambda: nodes_of(q, "own") == {"slow-0"}, "it continues on the slow node", LONG)


def test_job_that_ran_before_it_joined_a_group_is_placed_by_its_start(q: Quotree) -> None:
    q.job("joins", "", "1", suspend=False)
    wait_for(lambda: nodes_of(q, "joins") == {"slow-0"}, "it runs without a group", LONG)
    q.merge(f"{JOBS}/joins", {"spec": {"suspend": True}})
    wait_for(lambda: has_stopped(q, "joins"), "it is suspended", LONG)
    q.merge(f"{JOBS}/joins", {"metadata": {"labels": {"quotree.dev/group": "vision"}}})
    wait_for(lambda: nodes_of(q, "joins") == {"fast-0"}, "it runs on the fast node", LONG)
    assert spec_of(q, "joins")[0] == {"model": "fast"}
