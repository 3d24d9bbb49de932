"""The reference itself gives the figures of the sources, and its two forms of each rule agree."""

from typing import Any

import pytest

from shared.quota.model.tree import ROOT, Entry, Group, Tree
from shared.quota.model.workload import Admission, Workload
from shared.resources import FlavorResource
from tests.builders import in_main
from tests.prove.numbers.random_inputs import random_inputs
from tests.prove.random_draw import Seeded
from tests.shared.quota.reference.division import Sibling, divide
from tests.shared.quota.reference.inputs import EPOCH, ReferenceInputs
from tests.shared.quota.reference.reference import Reference

CPU = FlavorResource("default", "cpu")


def group(name: str, low: int, high: int | None = None, parent: str = ROOT, **limits: int) -> Group:
    written: dict[str, Any] = {limit: {"cpu": amount} for limit, amount in limits.items()}
    entry = Entry("default", min={"cpu": low}, max={} if high is None else {"cpu": high}, **written)
    return Group(name, parent=parent, quotas=(entry,))


def parent(name: str, low: int, high: int) -> Group:
    return Group(name, is_parent=True, quotas=(Entry("default", min={"cpu": low}, max={"cpu": high}),))


def job(name: str, leaf: str, cpu: int, *, running: bool = False) -> Workload:
    admission = Admission(in_main({"cpu": "default"}), EPOCH) if running else None
    return Workload(f"ns/{name}", leaf, {"cpu": cpu}, created=EPOCH, queued=EPOCH, admission=admission)


def runtimes(inputs: ReferenceInputs) -> dict[str, int]:
    reference = Reference(inputs)
    return {name: reference.runtime(name, CPU) for name in reference.groups if name != ROOT}


def inputs_of(capacity: int, groups: list[Group], work: list[Workload]) -> ReferenceInputs:
    from shared.quota.model.flavor import Flavor

    return ReferenceInputs(Tree.of(groups), tuple(work), {CPU: capacity}, flavors={"default": Flavor("default")})


def test_koordinator_example_of_four_groups() -> None:
    groups = [
        group("a", 10, weight=40),
        group("b", 15, weight=60),
        group("c", 20, weight=50),
        group("d", 15, weight=80),
    ]
    work = [job("a", "a", 5), job("b", "b", 20), job("c", "c", 40), job("d", "d", 70)]

    assert runtimes(inputs_of(100, groups, work)) == {"a": 5, "b": 20, "c": 35, "d": 40}


def test_koordinator_example_of_two_levels() -> None:
    groups = [
        parent("pa", 20, 100),
        parent("pb", 80, 100),
        group("a1", 10, 10, "pa"),
        group("a2", 10, 10, "pa"),
        group("b1", 20, 40, "pb"),
        group("b2", 40, 70, "pb"),
    ]
    work = [job(f"{leaf}-{number}", leaf, 1) for leaf in ("a1", "a2", "b1", "b2") for number in range(100)]

    assert runtimes(inputs_of(100, groups, work)) == {"pa": 20, "pb": 80, "a1": 10, "a2": 10, "b1": 27, "b2": 53}


def test_guarantee_in_a_short_cluster_is_charged_at_most_its_runtime() -> None:
    groups = [group("a", 40, lending_limit=0), group("b", 40)]
    work = [job(f"b{number}", "b", 10, running=number < 2) for number in range(5)]
    reference = Reference(inputs_of(50, groups, work))

    assert {name: reference.runtime(name, CPU) for name in ("a", "b")} == {"a": 25, "b": 25}
    assert reference.charge(ROOT, CPU) == 45


def test_min_of_an_idle_sibling_does_not_reduce_the_busy_one() -> None:
    groups = [parent("p", 40, 100), group("c1", 20, parent="p", weight=0), group("c2", 20, parent="p")]
    work = [job("c1", "c1", 20), job("c2", "c2", 5)]

    assert runtimes(inputs_of(100, groups, work)) == {"p": 25, "c1": 20, "c2": 5}


def test_sibling_with_use_above_its_share_keeps_it_and_leaves_the_division() -> None:
    siblings = [Sibling("a", 40, 0, 40, 30, 1), Sibling("b", 40, 0, 40, 0, 1), Sibling("c", 20, 0, 20, 0, 1)]

    assert divide(60, siblings) == {"a": 30, "b": 20, "c": 10}


@pytest.mark.parametrize("seed", range(60))
def test_integer_shares_stay_within_one_of_the_exact_fractions(seed: int) -> None:
    reference = Reference(random_inputs(Seeded(seed), groups=15))
    for name in reference.groups:
        children = reference.children(name)
        for key in reference.keys:
            exact = reference.exact_runtimes(name, key)
            apart = {child: abs(reference.runtime(child, key) - exact[child]) for child in children}
            assert all(gap <= len(children) for gap in apart.values()), apart


@pytest.mark.parametrize("seed", range(60))
def test_charge_agrees_with_the_balance_of_kep_79_without_scaled_guarantees(seed: int) -> None:
    reference = Reference(random_inputs(Seeded(seed), groups=15))
    for key in reference.keys:
        for name in reference.groups:
            below = [each for each in reference.tree.subtree(name) if each in reference.groups and each != name]
            if name != "system" and all(
                reference.guarantee(each, key) <= reference.runtime(each, key) for each in below
            ):
                whole = reference.capacity(key) if name == ROOT else reference.min(name, key)
                assert reference.balance(name, key) == whole - reference.charge(name, key)
