"""The least set of suspects with which something fails, compared with all subsets."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as some

from shared.cluster.state.faults.bisection import finish, least_failing


@given(some.integers(1, 40), some.data())
def test_few_suspects_are_found_that_fail_together_and_without_any_one_do_not(
    number: int, data: some.DataObject
) -> None:
    causes = data.draw(some.lists(some.frozensets(some.integers(0, number - 1), min_size=1, max_size=3), min_size=1))

    def fails(chosen: Sequence[int]) -> bool:
        return any(cause <= set(chosen) for cause in causes)

    found = finish(least_failing(range(number), fails))
    assert fails(found)
    assert not any(fails([each for each in found if each != left]) for left in found)


def test_one_cause_costs_as_much_as_one_attempt_with_all() -> None:
    sizes: list[int] = []

    def fails(chosen: Sequence[int]) -> bool:
        sizes.append(len(chosen))
        return 777 in chosen

    assert finish(least_failing(range(1024), fails)) == [777]
    assert sum(sizes) <= 1024
