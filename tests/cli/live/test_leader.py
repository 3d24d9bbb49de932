"""Whether a reconciler leads, as the Lease says it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import yaml

from cli.read.cluster.leader import live_leaderless_since
from cli.read.cluster.live import LiveCluster, NotAllowed
from tests.builders import NOW

Object = dict[str, Any]
SETTINGS = yaml.safe_dump({"leaderElection": {"namespace": "quotas", "name": "other-reconciler"}, "quota": {}})


@dataclass(frozen=True, slots=True)
class Lists(LiveCluster):
    """A cluster that has these lists, by the beginning of their paths; others are forbidden."""

    found: dict[str, list[Object]] = field(default_factory=dict)

    def items(self, path: str) -> Sequence[msgspec.Raw]:
        for begin, objects in self.found.items():
            if path.startswith(begin):
                return [msgspec.Raw(msgspec.json.encode(each)) for each in objects]
        raise NotAllowed(path)


def lease(seconds_ago: float, holder: str | None = "a") -> Object:
    spec = {"leaseDurationSeconds": 15, "renewTime": NOW - timedelta(seconds=seconds_ago)}
    return {"spec": {**spec, "holderIdentity": holder}}


def cluster(*leases: Object, name: str = "quotree-reconciler", **more: list[Object]) -> Lists:
    path = f"/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3D{name}"
    named = [{"metadata": {"name": name}, **each} for each in leases]
    return Lists(found={path: named, **{f"/api/v1/{each}": found for each, found in more.items()}})


@pytest.mark.parametrize(
    ("found", "ago"),
    [
        pytest.param(cluster(lease(9)), None, id="renewed"),
        pytest.param(cluster(lease(29)), None, id="run out by less than clocks may differ"),
        pytest.param(cluster(lease(31)), 31, id="run out"),
        pytest.param(cluster(lease(1, holder="")), 1, id="released"),
        pytest.param(cluster({"spec": {}}), None, id="never held"),
        pytest.param(cluster({}), None, id="made by hand"),
        pytest.param(cluster(lease(90), lease(3)), None, id="another installation's has run out"),
        pytest.param(Lists(), None, id="forbidden"),
    ],
)
def test_nobody_leads_since_the_last_renewal(found: Lists, ago: float | None) -> None:
    assert live_leaderless_since(found, NOW) == (None if ago is None else NOW - timedelta(seconds=ago))


def test_name_of_the_lease_is_that_in_the_settings() -> None:
    settings = [{"data": {"reconciler.yaml": SETTINGS}}]
    found = cluster(lease(60), name="other-reconciler", configmaps=settings)
    assert live_leaderless_since(found, NOW) == NOW - timedelta(seconds=60)
