"""The engine's numbers are the reference's, on trees that hypothesis makes and shrinks, and obey their laws."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prove.numbers.comparing import (
    broken_invariants,
    changes_when_shuffled,
    differences,
    losses_when_capacity_grows,
)
from tests.prove.numbers.random_inputs import random_inputs
from tests.prove.random_draw import Drawn
from tests.shared.quota.reference.inputs import ReferenceInputs

few = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@st.composite
def drawn_inputs(draw: st.DrawFn) -> ReferenceInputs:
    return random_inputs(Drawn(draw), groups=9, work=9)


@few
@given(drawn_inputs())
def test_every_number_equals_the_reference(inputs: ReferenceInputs) -> None:
    assert list(differences(inputs)) == []


@few
@given(drawn_inputs())
def test_limits_sums_mins_and_conservation_hold(inputs: ReferenceInputs) -> None:
    assert list(broken_invariants(inputs)) == []


@few
@given(st.data(), drawn_inputs())
def test_no_number_depends_on_the_input_order(data: st.DataObject, inputs: ReferenceInputs) -> None:
    assert list(changes_when_shuffled(inputs, Drawn(data.draw))) == []


@few
@given(st.data(), drawn_inputs())
def test_more_capacity_reduces_no_runtime(data: st.DataObject, inputs: ReferenceInputs) -> None:
    assert list(losses_when_capacity_grows(inputs, Drawn(data.draw))) == []
