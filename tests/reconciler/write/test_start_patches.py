"""A workload is not started in flavors whose nodes differ from each other's, or from those that its owner wants."""

import pytest

from reconciler.write.starts.patches import StartPatches
from shared.api.core.placement import Placement
from shared.cluster.state.cluster_state import ClusterState
from shared.kube.watch.cache import Changed
from shared.quota.decide.decisions import Start, Tier
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Flavors, PodSet
from tests.builders import pending

FLAVORS = (
    Flavor("a100", node_labels={"gpu": "a100"}),
    Flavor("t4", node_labels={"gpu": "t4"}),
    Flavor("ssd", node_labels={"disk": "ssd"}),
)


def conflicts(flavors: Flavors, *sets: PodSet) -> list[str]:
    state = ClusterState(QuotaSettings())
    state.observe_flavors([Changed(None, each) for each in FLAVORS])
    return StartPatches(state).conflicts(Start(pending("vision", 1, pod_sets=sets), flavors, Tier.ENTITLED))


@pytest.mark.parametrize(
    ("flavors", "sets", "found"),
    [
        pytest.param({"main": {"cpu": "a100", "disk": "ssd"}}, (), [], id="labels of different keys"),
        pytest.param({"main": {"cpu": "default"}}, (), [], id="the flavor that is always there"),
        pytest.param(
            {"main": {"cpu": "t4", "gpu": "a100"}},
            (),
            ["flavor t4 needs nodes with gpu=t4, flavor a100 asks for gpu=a100"],
            id="one label of two values",
        ),
        pytest.param(
            {"main": {"cpu": "t4"}},
            (PodSet("main", {"cpu": 1}, placement=Placement({"gpu": "a100"})),),
            ["flavor t4 needs nodes with gpu=t4, the pod template asks for gpu=a100"],
            id="another value than the owner's",
        ),
        pytest.param(
            {"head": {"cpu": "t4"}, "workers": {"cpu": "a100"}},
            (PodSet("head", {"cpu": 1}), PodSet("workers", {"cpu": 1})),
            [],
            id="each pod set on its own nodes",
        ),
    ],
)
def test_contradicting_flavors_are_named(flavors: Flavors, sets: tuple[PodSet, ...], found: list[str]) -> None:
    assert conflicts(flavors, *sets) == found
