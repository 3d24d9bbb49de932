"""Over 1,500 cycles every leaf with demand gets its share by weight within one job, and a rotation evicts nothing."""

import pytest

from tests.prove.fairness import CASES, serve


@pytest.mark.parametrize("case", CASES)
def test_each_leaf_gets_its_share_within_one_job_and_nothing_is_evicted(case: str) -> None:
    demands, capacity = CASES[case]
    served = serve(demands, capacity, 1500)
    assert served.evictions == 0
    assert {leaf: served.behind(leaf) for leaf in demands if abs(served.behind(leaf)) > 1} == {}
