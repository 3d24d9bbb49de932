"""QuotaSettings say what decides how much root has of a key: nodes, what is promised, or a number given by hand."""

from dataclasses import replace

import pytest

from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.settings import CapacitySource, QuotaSettings
from tests.trees import GPU, KEY

BY_NODES = QuotaSettings()
BY_GROUPS = replace(BY_NODES, capacity_source=CapacitySource.GROUPS)
GIVEN = ((KEY.flavor, GPU, 8),)


@pytest.mark.parametrize(
    ("settings", "of_nodes", "promised"),
    [
        pytest.param(BY_NODES, True, False, id="nodes"),
        pytest.param(BY_GROUPS, False, True, id="what is promised"),
        pytest.param(replace(BY_NODES, devices=DeviceResources({"class": GPU})), False, True, id="devices"),
        pytest.param(replace(BY_GROUPS, devices=DeviceResources()), False, True, id="promised, beside devices"),
        pytest.param(replace(BY_NODES, capacity=GIVEN), False, False, id="by hand"),
        pytest.param(replace(BY_GROUPS, capacity=GIVEN), False, False, id="by hand, beside what is promised"),
    ],
)
def test_one_alone_decides_how_much_root_has(settings: QuotaSettings, of_nodes: bool, promised: bool) -> None:
    assert (settings.is_of_nodes(KEY), settings.is_promised(KEY)) == (of_nodes, promised)
