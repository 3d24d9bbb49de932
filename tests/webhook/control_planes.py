"""Fixtures: control planes with the chart's webhook configurations, and what stands behind them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dev.controlplane import binaries, cluster
from tests.webhook.webhook_process import Door


@contextmanager
def built(found: binaries.Binaries, folder: Path) -> Iterator[Door]:
    """No replica yet, and no webhook configuration."""
    nodes = [cluster.NodeSpec("node-0", labels={}, allocatable={"cpu": "1000", "memory": "1Ti", "pods": "1000"})]
    with cluster.start(found, nodes=nodes) as cp:
        door = Door(cp, folder)
        door.install()
        try:
            yield door
        finally:
            door.close()
            print(door.say())


@pytest.fixture(scope="module")
def bare_door(control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A module's own, without replicas and configurations."""
    with built(control_plane_binaries, tmp_path_factory.mktemp("webhook")) as door:
        yield door


@pytest.fixture(scope="session")
def door(control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One replica, and a tree: research/{vision (a100), nlp (a100, t4)}, closed/old. Shared: use names of your own."""
    with built(control_plane_binaries, tmp_path_factory.mktemp("door")) as door:
        door.flavor("a100", nodeLabels={"gpu": "a100"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
        door.flavor("t4", nodeLabels={"gpu": "t4"})

        def quota(flavor: str, cpu: int) -> dict[str, object]:
            return {"flavor": flavor, "min": {"cpu": cpu}, "max": {"cpu": cpu}}

        door.group("research", isParent=True, quotas=[quota("a100", 20), quota("t4", 20)])
        door.group("vision", "research", quotas=[quota("a100", 10)])
        door.group("nlp", "research", quotas=[quota("a100", 10), quota("t4", 10)])
        door.group("closed", isParent=True, stopPolicy="Close", quotas=[quota("a100", 5)])
        door.group("old", "closed", quotas=[quota("a100", 5)])
        door.open()
        yield door
