"""A started workload whose pods hold devices of which its admission says nothing: in which flavors they count."""

from collections.abc import Mapping

import pytest

from shared.quota.model.devices.flavors import with_all_devices
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.settings import QuotaSettings, Uncovered
from shared.quota.model.tree import Entry, Group
from tests.builders import pending, running

GPU, NIC, LARGE = "example.com/gpu", "example.com/nic", "large.deviceclass.resource.k8s.io/devices"
DEVICES = DeviceResources({"gpu": GPU, "nic": NIC})
DENY, IGNORE = (QuotaSettings(devices=DEVICES, uncovered=each) for each in (Uncovered.DENY, Uncovered.IGNORE))
GROUP = Group(
    "a",
    quotas=(
        Entry("slow", max={"cpu": 8, GPU: 8}),
        Entry("fast", max={"cpu": 8, GPU: 8}),
        Entry("net", max={NIC: 8}),
    ),
)


@pytest.mark.parametrize(
    ("request_", "settings", "flavors"),
    [
        ({"cpu": 1}, DENY, {"cpu": "fast"}),
        ({"cpu": 1, GPU: 1}, DENY, {"cpu": "fast", GPU: "fast"}),
        ({"cpu": 1, NIC: 1}, DENY, {"cpu": "fast", NIC: "net"}),
        ({"cpu": 1, LARGE: 1}, DENY, {"cpu": "fast", LARGE: "fast"}),
        ({"cpu": 1, LARGE: 1}, IGNORE, {"cpu": "fast"}),
        ({"cpu": 1, "memory": 1}, DENY, {"cpu": "fast"}),
        ({"cpu": 1, GPU: 1}, QuotaSettings(), {"cpu": "fast"}),
        ({"cpu": 1, GPU: 0}, DENY, {"cpu": "fast"}),
    ],
    ids=[
        "nothing else",
        "in a flavor that it has and that covers them",
        "in the first flavor that covers them",
        "in one that it has, where the group has no quota of them",
        "not, where the settings ignore what is not covered",
        "what is no device is left as it is",
        "not, where devices are not counted",
        "none of them",
    ],
)
def test_devices_count_in_their_flavor(
    request_: Mapping[str, int], settings: QuotaSettings, flavors: Mapping[str, str]
) -> None:
    started = running("a", request_, flavors={"cpu": "fast"})
    found = with_all_devices(started, GROUP, settings)
    assert found.admission is not None
    assert found.admission.flavors == {"main": flavors}
    assert (found is started) is (flavors == {"cpu": "fast"})


def test_devices_stay_in_the_flavor_that_the_admission_names() -> None:
    started = running("a", {"cpu": 1, GPU: 1}, flavors={"cpu": "fast", GPU: "slow"})
    assert with_all_devices(started, GROUP, DENY) is started


def test_pending_workload_has_no_flavors() -> None:
    waiting = pending("a", {"cpu": 1, GPU: 1})
    assert with_all_devices(waiting, GROUP, DENY) is waiting


def test_devices_without_group_and_flavors_count_in_default() -> None:
    found = with_all_devices(running("a", {LARGE: 1}, flavors={}), None, DENY)
    assert found.admission is not None
    assert found.admission.flavors == {"main": {LARGE: "default"}}
