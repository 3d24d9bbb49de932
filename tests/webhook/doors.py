"""Fixtures: a control plane with the chart's webhook configurations, and one replica behind them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane import binaries, cluster
from tests.webhook.running import Door


@pytest.fixture(scope="module")
def bare_door(control_plane_binaries: binaries.Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """No replica yet, and no webhook configuration."""
    nodes = [cluster.NodeSpec("node-0", labels={}, allocatable={"cpu": "1000", "memory": "1Ti", "pods": "1000"})]
    with cluster.start(control_plane_binaries, nodes=nodes) as cp:
        door = Door(cp, Path(tmp_path_factory.mktemp("webhook")))
        door.install()
        try:
            yield door
        finally:
            door.close()
            print(door.say())


@pytest.fixture(scope="module")
def door(bare_door: Door) -> Door:
    """One replica, and a tree: research/{vision (a100), nlp (a100, t4)}, closed/old."""
    bare_door.flavor("a100", nodeLabels={"gpu": "a100"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
    bare_door.flavor("t4", nodeLabels={"gpu": "t4"})

    def quota(flavor: str, cpu: int) -> dict[str, object]:
        return {"flavor": flavor, "min": {"cpu": cpu}, "max": {"cpu": cpu}}

    bare_door.group("research", isParent=True, quotas=[quota("a100", 20), quota("t4", 20)])
    bare_door.group("vision", "research", quotas=[quota("a100", 10)])
    bare_door.group("nlp", "research", quotas=[quota("a100", 10), quota("t4", 10)])
    bare_door.group("closed", isParent=True, stopPolicy="Close", quotas=[quota("a100", 5)])
    bare_door.group("old", "closed", quotas=[quota("a100", 5)])
    bare_door.open()
    return bare_door
