"""Usage: charges follow the formula, and what is said to be free is exactly what fits.

See docs/specification.md §3.3 and §6.2.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.quota.decide.state.usage import FrozenNumbers, Usage
from shared.quota.measure.group_usage import Numbers
from shared.resources import FlavorResource
from tests.trees import KEY

PATHS = {"a1": ("a1", "a", "root"), "a2": ("a2", "a", "root"), "b": ("b", "root")}
CHILDREN = {"root": ("a", "b"), "a": ("a1", "a2")}
small = st.integers(0, 12)
large = st.integers(20, 60)
AllNumbers = dict[str, dict[FlavorResource, Numbers]]
Made = tuple[dict[str, int], AllNumbers]


def charge_of(group: str, used: dict[str, int], numbers: AllNumbers) -> int:
    if group not in CHILDREN:
        return used[group]
    return sum(
        max(min(numbers[c][KEY].guarantee, numbers[c][KEY].runtime), charge_of(c, used, numbers))
        for c in CHILDREN[group]
    )


@st.composite
def usages(draw: st.DrawFn) -> Made:
    used = {leaf: draw(small) for leaf in PATHS}
    numbers = {
        group: {KEY: Numbers(ceiling=draw(large), guarantee=draw(small), runtime=draw(large))}
        for group in ("a1", "a2", "b", "a", "root")
    }
    for group, by_key in numbers.items():
        old = by_key[KEY]
        by_key[KEY] = Numbers(
            ceiling=old.ceiling,
            limit=min(old.ceiling, old.runtime) if group == "root" else old.ceiling,
            guarantee=old.guarantee,
            runtime=old.runtime,
            idle_charge=min(old.guarantee, old.runtime),
            charge=charge_of(group, used, numbers),
        )
    return used, numbers


@given(usages(), st.lists(st.tuples(st.sampled_from(sorted(PATHS)), small), max_size=6))
def test_charges_match_the_formula_after_any_changes(made: Made, changes: list[tuple[str, int]]) -> None:
    used, numbers = made
    usage = Usage(FrozenNumbers(numbers))
    for leaf, amount in changes:
        usage.add(PATHS[leaf], ((KEY, amount),))
        used[leaf] += amount
    assert {group: usage.charge(group, KEY) for group in numbers} == {
        group: charge_of(group, used, numbers) for group in numbers
    }


@given(usages(), st.sampled_from(sorted(PATHS)), st.integers(1, 20))
@settings(max_examples=300)
def test_workload_fits_exactly_when_every_limit_on_its_path_holds(made: Made, leaf: str, amount: int) -> None:
    _, numbers = made
    usage, quantities = Usage(FrozenNumbers(numbers)), ((KEY, amount),)
    fits = usage.fits(PATHS[leaf], quantities)
    usage.add(PATHS[leaf], quantities)
    assert fits == all(usage.excess(group, KEY) <= 0 for group in PATHS[leaf])
    assert usage.keeps_limits(PATHS[leaf], quantities) == fits


@given(usages(), st.sampled_from(sorted(PATHS)), small)
def test_remove_reverts_add(made: Made, leaf: str, amount: int) -> None:
    _, numbers = made
    usage = Usage(FrozenNumbers(numbers))
    usage.add(PATHS[leaf], ((KEY, amount),))
    usage.remove(PATHS[leaf], ((KEY, amount),))
    assert {group: usage.charge(group, KEY) for group in numbers} == {
        group: by_key[KEY].charge for group, by_key in numbers.items()
    }
