"""An admission of no flavors, of invented ones or of some resources only is none."""

import pytest

from shared.quota.model.admissions import why_no_admission
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from tests.builders import pending, running

TREE = Tree.of(
    [
        Group("lab", is_parent=True, quotas=(Entry("a100", min={"cpu": 8}),)),
        Group("vision", "lab", quotas=(Entry("t4", min={"cpu": 8, "gpu": 2}),)),
    ]
)
BOTH = {"cpu": 2, "gpu": 1}
CASES: dict[str, tuple[dict[str, str], str]] = {
    "all that is covered": ({"cpu": "t4", "gpu": "t4"}, ""),
    "no flavors": ({}, "names no flavor for cpu, which group vision covers"),
    "some resources only": ({"cpu": "t4"}, "names no flavor for gpu, which group vision covers"),
    "an invented flavor": ({"cpu": "z", "gpu": "t4"}, "names flavor 'z' for cpu, which group vision does not have"),
    "a flavor of a group above": ({"cpu": "a100", "gpu": "t4"}, ""),
    "a flavor that covers something else": (
        {"cpu": "t4", "gpu": "a100"},
        "names flavor 'a100' for gpu, which group vision does not have",
    ),
}


@pytest.mark.parametrize(("flavors", "why"), CASES.values(), ids=CASES)
def test_admission_names_flavors_of_its_group_for_all_that_is_covered(flavors: dict[str, str], why: str) -> None:
    assert why_no_admission(running("vision", BOTH, flavors=flavors), TREE.get, QuotaSettings()) == why


def test_what_no_entry_covers_and_devices_need_no_flavor() -> None:
    devices = DeviceResources({"x": "gpu"})
    work = running("vision", {**BOTH, "memory": 1}, flavors={"cpu": "t4"})
    assert why_no_admission(work, TREE.get, QuotaSettings(devices=devices)) == ""


def test_waiting_workload_and_unknown_group_are_not_judged() -> None:
    assert why_no_admission(pending("vision", BOTH), TREE.get, QuotaSettings()) == ""
    assert why_no_admission(running("gone", BOTH, flavors={}), TREE.get, QuotaSettings()) == ""
