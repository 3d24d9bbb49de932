"""Fixtures for every test: a real control plane, shared by a worker's tests or a test's own."""

import gc
import os
import sys
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from dev.controlplane import cluster
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries
from tests.ordering import arrange
from tests.preloaded import Preloaded

# A machine that is busy draws examples slowly; that is no failure.
settings.register_profile("quotree", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quotree")
# Collecting garbage is a fifth of the control planes' CPU, which the tests wait for. With this each takes some 300 MiB
# more, and four workers may have a dozen of them at a time.
if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >= 16 << 30:
    os.environ.setdefault("GOGC", "400")

# Shared nodes are large and few: a test that fills nodes starts a control plane of its own.
SHARED_NODES = tuple(
    cluster.NodeSpec(
        f"node-{number}",
        labels={"demo.quotree.dev/size": "large"},
        allocatable={"cpu": "1000", "memory": "4Ti", "nvidia.com/gpu": "64", "pods": "1000"},
    )
    for number in range(4)
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what is collected: it stays until the end, and each look at all of it costs.

    Without this, looking through it again and again is a fifth of the CPU of collecting and a seventh of that of tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


PROGRAMS = pytest.StashKey[binaries.Binaries | ControlPlaneError]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each worker of pytest-xdist a part of its own; a run without workers keeps the order of the files."""
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    if workers > 1:
        arrange(items, workers)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the programs before the first test that needs them: a first build takes longer than a test may."""
    needed = any("control_plane_binaries" in getattr(item, "fixturenames", ()) for item in session.items)
    if not needed or session.config.option.collectonly:
        return
    try:
        session.config.stash[PROGRAMS] = binaries.ensure(_say)
    except ControlPlaneError as error:
        session.config.stash[PROGRAMS] = error


@pytest.fixture(scope="session")
def control_plane_binaries(pytestconfig: pytest.Config) -> binaries.Binaries:
    """The programs; a machine that cannot have them fails the test, for a skipped test proves nothing."""
    programs = pytestconfig.stash[PROGRAMS]
    if isinstance(programs, ControlPlaneError):
        pytest.fail(f"no control plane to test against: {programs}", pytrace=False)
    return programs


@pytest.fixture(scope="session")
def control_plane(control_plane_binaries: binaries.Binaries) -> Iterator[cluster.ControlPlane]:
    """One per test worker, shared by its tests: use names of your own, restart nothing."""
    yield from _running(control_plane_binaries)


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Preloaded]:
    """What the reconcilers and webhooks of a worker's tests are forked from."""
    server = Preloaded()
    yield server
    server.close()


def _running(programs: binaries.Binaries) -> Iterator[cluster.ControlPlane]:
    try:
        started = cluster.start(programs, nodes=SHARED_NODES, audit=True)
    except ControlPlaneError as error:
        pytest.fail(f"the control plane did not start: {error}", pytrace=False)
    with started:
        yield started


def _say(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)
