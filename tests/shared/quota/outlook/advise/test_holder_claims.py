"""What a holder's data says of the claim on it."""

import pytest

from shared.quota.model.workload import Workload
from shared.quota.outlook.advise.json_output import holder_as_data
from shared.quota.outlook.advise.preemptor_names import PreemptorNames
from shared.quota.outlook.explain.holders import Holder
from tests.builders import claimed, evicting, pending, running, world

PREEMPTOR = pending("a", 2, "waits")


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(claimed(evicting(running("b", 4, "holds")), PREEMPTOR), PREEMPTOR.key, id="being evicted"),
        pytest.param(claimed(running("b", 4, "holds"), PREEMPTOR), None, id="runs again after its eviction"),
    ],
)
def test_claim_is_shown_only_on_a_holder_that_is_being_evicted(workload: Workload, expected: str | None) -> None:
    names = PreemptorNames(world("root 8\n  a 4\n  b 4", [PREEMPTOR, workload]))
    assert holder_as_data(Holder(workload, 4, 4), names).get("claimedBy") == expected
