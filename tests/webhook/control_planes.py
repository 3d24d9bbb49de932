"""Fixtures: control planes with the chart's webhook configurations, and what stands behind them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.preloaded import Preloaded
from tests.webhook.webhook_process import AdmissionSetup


@contextmanager
def built(
    found: binaries.Binaries,
    folder: Path,
    preloaded: Preloaded,
    controllers: tuple[str, ...] = cluster.DEFAULT_CONTROLLERS,
) -> Iterator[AdmissionSetup]:
    """No replica yet, and no webhook configuration."""
    nodes = [cluster.NodeSpec("node-0", labels={}, allocatable={"cpu": "1000", "memory": "1Ti", "pods": "1000"})]
    with cluster.start(found, nodes=nodes, controllers=controllers) as control_plane:
        admission = AdmissionSetup(control_plane, folder, preloaded=preloaded)
        admission.install()
        try:
            yield admission
        finally:
            admission.close()
            print(admission.say())


@pytest.fixture(scope="module")
def bare_admission(
    control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded
) -> Iterator[AdmissionSetup]:
    """A module's own, without replicas and configurations."""
    with built(control_plane_binaries, tmp_path_factory.mktemp("webhook"), preloaded) as admission:
        yield admission


@pytest.fixture(scope="package")
def admission(
    control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory, preloaded: Preloaded
) -> Iterator[AdmissionSetup]:
    """One replica, and a tree: research/{vision (a100), nlp (a100, t4)}, closed/old.

    Shared by modules whose tests a worker may take in several parts: use names of your own, and make them in a test
    or in a fixture of this scope.
    """
    with built(control_plane_binaries, tmp_path_factory.mktemp("admission"), preloaded) as admission:
        admission.flavor("a100", nodeLabels={"gpu": "a100"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
        admission.flavor("t4", nodeLabels={"gpu": "t4"})

        def quota(flavor: str, cpu: int) -> dict[str, object]:
            return {"flavor": flavor, "min": {"cpu": cpu}, "max": {"cpu": cpu}}

        admission.group("research", isParent=True, quotas=[quota("a100", 20), quota("t4", 20)])
        admission.group("vision", "research", quotas=[quota("a100", 10)])
        admission.group("nlp", "research", quotas=[quota("a100", 10), quota("t4", 10)])
        admission.group("closed", isParent=True, stopPolicy="Close", quotas=[quota("a100", 5)])
        admission.group("old", "closed", quotas=[quota("a100", 5)])
        admission.open()
        yield admission
