"""The engine's numbers are the reference's, on trees that hypothesis makes and shrinks, and obey their laws."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prove.comparing import (
    broken_invariants,
    changes_when_shuffled,
    differences,
    losses_when_capacity_grows,
)
from tests.prove.random_draw import Drawn
from tests.prove.random_scenes import random_scene
from tests.shared.quota.reference_inputs import Scene

few = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    return random_scene(Drawn(draw), groups=9, work=9)


@few
@given(scenes())
def test_every_number_equals_the_reference(scene: Scene) -> None:
    assert list(differences(scene)) == []


@few
@given(scenes())
def test_limits_sums_mins_and_conservation_hold(scene: Scene) -> None:
    assert list(broken_invariants(scene)) == []


@few
@given(st.data(), scenes())
def test_no_number_depends_on_the_input_order(data: st.DataObject, scene: Scene) -> None:
    assert list(changes_when_shuffled(scene, Drawn(data.draw))) == []


@few
@given(st.data(), scenes())
def test_more_capacity_reduces_no_runtime(data: st.DataObject, scene: Scene) -> None:
    assert list(losses_when_capacity_grows(scene, Drawn(data.draw))) == []
