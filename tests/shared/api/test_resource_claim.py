"""How many devices of each class a claim, or one made from a template, takes at most."""

from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.core.resource_claim import (
    MAX_DEVICES,
    ClaimDevices,
    read_resource_claim,
    read_resource_claim_template,
    read_shared_claim,
)


def wants(name: str, **more: Any) -> dict[str, Any]:
    return {"deviceClassName": name, **more}


def exactly(name: str, **more: Any) -> dict[str, Any]:
    return {"name": "one", "exactly": wants(name, **more)}


def first(*alternatives: dict[str, Any]) -> dict[str, Any]:
    return {"name": "any", "firstAvailable": list(alternatives)}


def claim(*requests: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "c", "namespace": "ns", **metadata}, "spec": {"devices": {"requests": list(requests)}}}


CASES: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, int], tuple[str, ...]]] = {
    "nothing": ((), {}, ()),
    "one is meant where no count is": ((exactly("gpu"),), {"gpu": 1}, ()),
    "an exact count": ((exactly("gpu", allocationMode="ExactCount", count=3),), {"gpu": 3}, ()),
    "requests add up": ((exactly("gpu", count=2), exactly("gpu"), exactly("nic")), {"gpu": 3, "nic": 1}, ()),
    "the largest alternative of each class": (
        (first(wants("big", count=1), wants("small", count=4), wants("small", count=2)), exactly("big")),
        {"big": 2, "small": 4},
        (),
    ),
    "all, as many as a claim can be given": ((exactly("gpu", allocationMode="All"),), {"gpu": MAX_DEVICES}, ("one",)),
    "all as an alternative": (
        (first(wants("big", count=40), wants("big", allocationMode="All")),),
        {"big": 40},
        ("any",),
    ),
    "access to devices of others takes none": (
        (exactly("gpu", adminAccess=True), exactly("nic", allocationMode="All", adminAccess=True)),
        {},
        (),
    ),
    "a negative count is none": ((exactly("gpu", count=-5),), {"gpu": 0}, ()),
}


@pytest.mark.parametrize(("requests", "classes", "unlimited"), CASES.values(), ids=CASES)
def test_claim_counts_devices_by_class(
    requests: tuple[dict[str, Any], ...], classes: dict[str, int], unlimited: tuple[str, ...]
) -> None:
    written = claim(*requests)
    assert read_resource_claim(written) == ClaimDevices("ns", "c", classes, unlimited)
    template = {"metadata": written["metadata"], "spec": {"spec": written["spec"]}}
    assert read_resource_claim_template(msgspec.json.encode(template)) == ClaimDevices("ns", "c", classes, unlimited)


@pytest.mark.parametrize(
    ("owner", "is_shared"),
    [([], True), ([{"kind": "Pod", "controller": True}], False), ([{"kind": "Job", "controller": True}], True)],
    ids=["of nobody", "of a pod", "of a Job"],
)
def test_claim_is_shared_unless_generated_for_a_pod(owner: list[Any], is_shared: bool) -> None:
    found = read_shared_claim(msgspec.json.encode(claim(exactly("gpu"), ownerReferences=owner)))
    assert (found is not None) is is_shared


ALTERNATIVE = st.builds(wants, st.sampled_from(["big", "small", "nic"]), count=st.integers(1, 40))
REQUEST = st.one_of(
    ALTERNATIVE.map(lambda each: {"exactly": each}),
    st.lists(ALTERNATIVE, min_size=1, max_size=4).map(lambda each: {"firstAvailable": each}),
)


@given(st.lists(REQUEST, max_size=5))
def test_no_alternative_of_a_claim_uses_more_than_is_counted(requests: list[dict[str, Any]]) -> None:
    counted = read_resource_claim(claim(*requests)).classes
    possible = [each.get("firstAvailable") or [each["exactly"]] for each in requests]
    for chosen in product(*possible):
        taken: dict[str, int] = {}
        for each in chosen:
            taken[each["deviceClassName"]] = taken.get(each["deviceClassName"], 0) + each["count"]
        assert all(amount <= counted[name] for name, amount in taken.items())
