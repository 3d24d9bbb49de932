"""Whatever stands in an object of a shipped kind: it is read at once, and what is wrong is a sentence that names it."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.injection import NOTHING
from shared.kinds.descriptor import PRESETS
from shared.kinds.kind import Kind, compile_kind
from shared.kinds.operations import suspend_operations, template_operations
from shared.kinds.presets import read_preset
from shared.kinds.reading import read_kind_object
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.kind_objects import SeenPods, workload_of_kind
from shared.quota.model.settings import QuotaSettings
from tests.shared.kinds.test_presets import STARTED, lws

AROUND = NamespaceContext(namespace_labels={"quotree.dev/group": "vision"})
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.text(max_size=8),
)
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=5), inner)))
SAMPLES = [*STARTED, lws(size=3)]


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of an object below its spec and status."""
    if isinstance(value, dict):
        return [at, *(place for key, each in value.items() for place in places(each, (*at, key)))]
    if isinstance(value, list):
        return [at, *(place for index, each in enumerate(value) for place in places(each, (*at, index)))]
    return [at]


def put(root: Any, at: tuple[str | int, ...], value: Any) -> None:
    for step in at[:-1]:
        root = root[step]
    root[at[-1]] = value


def read_everything(kind: Kind, body: dict[str, Any]) -> None:
    seen = read_kind_object(kind, body)
    for problem in (*seen.problems, *seen.refusals):
        assert problem.isprintable(), problem
        assert len(problem) < 1500
    reading = workload_of_kind(seen, AROUND, QuotaSettings(), {"main": SeenPods(1, 0, {"cpu": 1})})
    assert reading.workload is None or all(amount >= 0 for amount in reading.workload.request.values())
    suspend_operations(seen, value=True)
    template_operations(seen, NOTHING, NOTHING, "u")


@given(data=st.data())
def test_one_hostile_value_at_any_place_raises_no_exception(data: st.DataObject) -> None:
    body = copy.deepcopy(data.draw(st.sampled_from(SAMPLES)))
    at = data.draw(st.sampled_from([each for each in places(body) if each[:1] == ("spec",)]))
    put(body, at, data.draw(VALUES))
    read_everything(compile_kind(read_preset(body["kind"].lower())), body)


@given(spec=VALUES, status=VALUES, name=st.sampled_from(PRESETS))
def test_objects_of_hostile_values_raise_no_exception(spec: Any, status: Any, name: str) -> None:
    read_everything(compile_kind(read_preset(name)), {"metadata": {"name": "x"}, "spec": spec, "status": status})


@pytest.mark.parametrize("at", ["replicatedJobs", "workerGroupSpecs", "pytorchReplicaSpecs", "components"])
@pytest.mark.parametrize("name", PRESETS)
def test_ten_thousand_pod_sets_are_refused_quickly(name: str, at: str) -> None:
    kind = compile_kind(read_preset(name))
    items: list[Any] = [{"name": "a", "podSets": [{}] * 100}] * 10_000
    members: dict[str, Any] = {f"s{number}": {} for number in range(10_000)}
    for many in (items, members):
        seen = read_kind_object(kind, {"metadata": {"name": "x"}, "spec": {at: many}})
        assert seen.pod_sets == ()


def test_names_cannot_inject_control_characters() -> None:
    kind = compile_kind(read_preset("pytorchjob"))
    specs = {"a\x1b[31m\nb": {"replicas": -1, "template": {}}}
    (problem,) = read_kind_object(kind, {"metadata": {"name": "x"}, "spec": {"pytorchReplicaSpecs": specs}}).problems
    assert problem.startswith("spec.pytorchReplicaSpecs['a\\x1b[31m\\nb'] is the text")
