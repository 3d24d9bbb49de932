"""Which flavors work may take: labels, affinity, taints, the flavor that it asks for."""

from dataclasses import replace

import pytest

from shared.api.core.placement import Placement, Requirement, Taint, Toleration
from shared.quota.model.eligibility import (
    Codependent,
    affinity_agrees,
    agree,
    codependent_sets,
    shape_of,
    tolerates,
    why_not,
    why_not_placed,
)
from shared.quota.model.flavor import Flavor
from tests.builders import pending
from tests.trees import tree

A100 = Flavor("a100", node_labels={"gpu": "a100", "memory": "80"})
LABELS = A100.node_labels


@pytest.mark.parametrize(
    ("placement", "reason"),
    [
        (Placement(), None),
        (Placement(node_selector={"gpu": "a100"}), None),
        (Placement(node_selector={"zone": "east"}), None),
        (Placement(node_selector={"gpu": "t4"}), "nodeSelector requires gpu=t4, the flavor is gpu=a100"),
        (
            Placement(affinity=((Requirement("gpu", "In", ("t4",)),),)),
            "required node affinity excludes the flavor's labels",
        ),
    ],
    ids=["anywhere", "agrees", "another key", "selector disagrees", "affinity disagrees"],
)
def test_placement_is_matched_on_the_label_keys_of_the_flavor(placement: Placement, reason: str | None) -> None:
    assert why_not_placed(placement, A100) == reason


REQUIREMENTS = [
    (Requirement("gpu", "In", ("a100", "t4")), True),
    (Requirement("gpu", "In", ("t4",)), False),
    (Requirement("gpu", "NotIn", ("t4",)), True),
    (Requirement("gpu", "NotIn", ("a100",)), False),
    (Requirement("gpu", "Exists"), True),
    (Requirement("gpu", "DoesNotExist"), False),
    (Requirement("memory", "Gt", ("40",)), True),
    (Requirement("memory", "Gt", ("80",)), False),
    (Requirement("memory", "Lt", ("81",)), True),
    (Requirement("memory", "Lt", ("80",)), False),
    (Requirement("gpu", "Gt", ("40",)), False),
    (Requirement("memory", "Gt", ()), False),
    (Requirement("zone", "In", ("east",)), True),
    (Requirement("zone", "DoesNotExist"), True),
]


@pytest.mark.parametrize(("requirement", "holds"), REQUIREMENTS, ids=str)
def test_requirement_is_matched_against_labels(requirement: Requirement, holds: bool) -> None:
    assert affinity_agrees(Placement(affinity=((requirement,),)), LABELS) is holds


def test_term_needs_all_its_requirements_and_one_term_is_enough() -> None:
    yes, no = Requirement("gpu", "Exists"), Requirement("gpu", "DoesNotExist")
    assert not affinity_agrees(Placement(affinity=((yes, no),)), LABELS)
    assert affinity_agrees(Placement(affinity=((no,), (yes,))), LABELS)


def test_affinity_without_a_term_that_requires_something_matches_nothing() -> None:
    assert not affinity_agrees(Placement(affinity=()), LABELS)
    assert affinity_agrees(Placement(affinity=((),)), LABELS)  # of node fields alone
    assert affinity_agrees(Placement(affinity=None), LABELS)


TAINT = Taint("gpu", "NoSchedule", "yes")
TOLERATIONS = [
    (Toleration("gpu", "Equal", "yes", "NoSchedule"), True),
    (Toleration("gpu", "", "yes"), True),
    (Toleration("gpu", "Exists"), True),
    (Toleration("", "Exists"), True),
    (Toleration("", "Exists", effect="NoExecute"), False),
    (Toleration("gpu", "Equal", "no"), False),
    (Toleration("other", "Exists"), False),
    (Toleration("gpu", "Wrong", "yes"), False),
]


@pytest.mark.parametrize(("toleration", "holds"), TOLERATIONS, ids=str)
def test_toleration_is_matched_against_a_taint(toleration: Toleration, holds: bool) -> None:
    assert tolerates(toleration, TAINT) is holds


def test_taints_of_a_flavor_are_tolerated_by_the_workload_or_the_flavor() -> None:
    tainted = Flavor("tainted", node_taints=(TAINT, Taint("slow", "PreferNoSchedule")))
    tolerant = Placement(tolerations=(Toleration("gpu", "Exists"),))
    adding = replace(tainted, tolerations=(Toleration("gpu", "Exists"),))
    assert why_not_placed(Placement(), tainted) == "taint gpu=yes:NoSchedule is not tolerated"
    assert why_not_placed(tolerant, tainted) is None
    assert why_not_placed(Placement(), adding) is None
    evicting = Flavor("evicting", node_taints=(Taint("gpu", "NoExecute"),))
    assert why_not_placed(Placement(), evicting) == "taint gpu=:NoExecute is not tolerated"


def test_entries_of_one_set_are_codependent_in_order() -> None:
    group = tree("a t4:cpu 3 t4:memory 4 | default:gpu 1 | a100:memory 2 a100:cpu 1")["a"]
    assert codependent_sets(group.quotas) == (
        Codependent(frozenset({"cpu", "memory"}), ("t4", "a100")),
        Codependent(frozenset({"gpu"}), ("default",)),
    )


def test_overlapping_sets_give_the_resource_to_the_first_entry() -> None:
    group = tree("a t4:cpu 3 t4:memory 4 | a100:memory 2")["a"]
    assert [each.resources for each in codependent_sets(group.quotas)] == [frozenset({"cpu", "memory"}), frozenset()]


CHOICE = Codependent(frozenset({"gpu"}), ("a100", "t4", "default", "absent"))
FLAVORS = {"a100": A100, "t4": Flavor("t4", node_labels={"gpu": "t4"})}


@pytest.mark.parametrize(
    ("fields", "name", "reason"),
    [
        ({}, "a100", None),
        ({}, "default", None),
        ({}, "absent", "there is no such flavor"),
        ({"only_flavor": "t4"}, "a100", "the workload takes flavor t4 only"),
        ({"only_flavor": "t4"}, "t4", None),
        ({"only_flavor": "elsewhere"}, "a100", None),
        (
            {"blocked_flavors": frozenset({"t4"})},
            "t4",
            "a label in the pods' nodeSelector conflicts with this flavor's",
        ),
    ],
    ids=str,
)
def test_ineligible_flavor_has_its_reason(fields: dict[str, object], name: str, reason: str | None) -> None:
    work = pending("a", 1, "job", **fields)
    assert why_not(work, work.placement, name, CHOICE, FLAVORS) == reason


def test_flavors_that_agree_on_every_label_can_share_a_node() -> None:
    assert agree([A100, Flavor("plain"), Flavor("east", node_labels={"zone": "east"})])
    assert not agree([A100, FLAVORS["t4"]])


def test_workloads_of_one_shape_are_equal_in_all_that_matters_to_flavors() -> None:
    job = pending("a", {"gpu": 1, "cpu": 2}, "one")
    twin = pending("b", {"cpu": 2, "gpu": 1}, "two", priority=5, placement=Placement(node_selector={}))
    assert shape_of(job) == shape_of(replace(job, key="ns/other", priority=3))
    assert hash(shape_of(twin)) == hash(shape_of(replace(twin, placement=Placement(node_selector={}))))
    for other in (
        replace(job, request={"gpu": 1}),
        replace(job, placement=Placement(node_selector={"gpu": "a100"})),
        replace(job, only_flavor="t4"),
        replace(job, blocked_flavors=frozenset({"t4"})),
    ):
        assert shape_of(other) != shape_of(job)
