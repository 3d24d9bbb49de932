"""One control plane with JobSet's operator for all tests of this folder."""

import sys
from collections.abc import Iterator

import pytest

from dev.controlplane.programs import binaries
from dev.controlplane.programs.binaries import Binaries
from dev.operators import building
from dev.operators.recipe import JOBSET
from tests.jobset.jobsets import API, driver_and_workers
from tests.operated import Operated, operated, template
from tests.operated_stories import Governed, governed


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the operator before the first test that needs it: a first build takes longer than a test may."""
    needed = any("jobsets" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.option.collectonly:
        building.ensure(JOBSET, binaries.ensure(_say), _say)


@pytest.fixture(scope="package")
def jobsets(control_plane_binaries: Binaries) -> Iterator[Operated]:
    """The operator runs; nothing is governed."""
    with operated(control_plane_binaries, JOBSET, API, "jobsets") as started:
        yield started


@pytest.fixture(scope="package")
def governed_jobsets(jobsets: Operated) -> Iterator[Governed]:
    """Quotree governs JobSets in namespaces that say so."""
    with governed(jobsets, "jobset", driver_and_workers, template) as it:
        yield it


def _say(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)
