"""Descriptors: what they must say, and that each mistake names its key."""

import msgspec
import pytest

from shared.kinds.descriptor import PRESETS
from shared.kinds.kind import compile_kind
from shared.kinds.presets import compile_kinds, read_preset
from tests.shared.kinds.objects import entry

WHOLE = """
apiVersion: example.com/v1
kind: Crunch
resource: crunches
suspend: .spec.paused
podSets: [{template: .spec.template}]
"""


def test_minimal_descriptor_is_read() -> None:
    kind = compile_kind(entry(WHOLE))
    assert (kind.group, kind.version, kind.kind, kind.suspend) == ("example.com", "v1", "Crunch", ("spec", "paused"))
    assert kind.path == "/apis/example.com/v1/crunches"
    assert (kind.is_of("example.com/v2", "Crunch"), kind.is_of("other.com/v1", "Crunch")) == (True, False)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("suspended: x", "unknown field `suspended`"),
        ("suspend: .spec[*]", "leads to several places"),
        ("suspend: .status.paused", "is no member below .spec"),
        ("suspend: .spec['a.b']", "is no member below .spec"),
        ("suspend: ''", "suspend: give one of suspend, gate, through; given: none"),
        ("gate: {groupLabel: a, sizeAnnotation: b}", "given: suspend, gate"),
        ("podSets: []", "podSets: is missing"),
        ("kind: ''", "kind: is missing"),
        ("apiVersion: v1", "apiVersion: 'v1' is none"),
        ("podSets: [{count: a}]", "count: 'a' reads a; `values` has nothing"),
        ("podSets: [{values: {a: '.b['}}]", "values: '.b\\[' is no path"),
        ("podSets: [{values: {a: .b | x}}]", "is no number"),
        ("podSets: [{values: {a.b: .b}}]", "is no name for a value"),
        ("podSets: [{values: {all: .b}}]", "is no name for a value"),
        ("podSets: [{template: '.a[*]'}]", "template: .* leads to several places"),
        ("podSets: [{templateNamedBy: .path}]", "templateNamedBy: needs `within`"),
        ("podSets: [{name: a, madeBy: b}]", "madeBy: 'b' is no name of a set that the operator makes"),
        ("podSets: [{name: a, madeBy: a}]", "madeBy: 'a' is no name of a set that the operator makes"),
        ("podSets: [{reader: none}]", "reader: 'none' is none"),
        ("podSets: [{inject: {labels: .}}]", "labels: is empty"),
        ("podSets: [{name: '.a[*]'}]", "name: .* leads to several places"),
        (f"podSets: [{', '.join(['{}'] * 9)}]", "podSets: has 9 entries; at most 8"),
        ("noted: [{}]", "give one of condition, path, expression; given: none"),
        ("noted: [{condition: A, path: .b, present: true}]", "given: condition, path"),
        ("finished: [{path: .a}]", "path: give either `in` or `present`"),
        ("skip: [{expression: 'a', values: {b: .c}}]", "expression: 'a' reads a; `values` has b"),
        ("refuse: [{condition: A, because: b}]", "remedy: is missing"),
        ("refuse: [{condition: A, remedy: b}]", "because: is missing"),
    ],
)
def test_invalid_descriptor_is_refused_with_the_reason(more: str, problem: str) -> None:
    key = more.partition(":")[0]
    rest = "\n".join(line for line in WHOLE.splitlines() if not line.startswith(f"{key}:"))
    with pytest.raises(msgspec.ValidationError, match=problem):
        entry(f"{rest}\n{more}\n")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_complete_and_names_its_operator(name: str) -> None:
    kind = compile_kind(read_preset(name))
    assert kind.kind.lower() == name
    assert bool(kind.operators) == bool(kind.children) == bool(kind.suspend)


def test_given_fields_replace_those_of_the_preset() -> None:
    (kind,) = compile_kinds([entry("preset: jobset\noperators: [me]\n")]).all
    assert (kind.kind, kind.operators) == ("JobSet", frozenset({"me"}))
    assert compile_kind(read_preset("jobset")).operators != kind.operators


def test_kind_governed_through_another_requires_that_kind() -> None:
    kinds = compile_kinds([entry("preset: trainjob"), entry("preset: jobset")])
    assert [each.kind for each in kinds.suspended] == ["JobSet"]
    with pytest.raises(
        ValueError, match=r"kinds: TrainJob: its operator makes objects of kind JobSet, .* add that kind"
    ):
        compile_kinds([entry("preset: trainjob")])


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="preset: 'jobsets' is none; there are jobset, "):
        entry("preset: jobsets")


def test_kind_is_found_by_api_group_and_name() -> None:
    kinds = compile_kinds([entry(WHOLE), entry("preset: jobset")])
    found = kinds.find("example.com/v7", "Crunch")
    assert found is kinds.all[0]
    assert kinds.named("JobSet") is kinds.all[1]
    assert kinds.find("batch/v1", "Job") is kinds.named("Job") is None


def test_kind_without_a_suspend_flag_is_governed_by_pod_gates() -> None:
    rest = "\n".join(line for line in WHOLE.splitlines() if not line.startswith("suspend:"))
    kind = compile_kind(entry(f"{rest}\ngate: {{groupLabel: example.com/group, sizeAnnotation: example.com/size}}"))
    assert kind.gate is not None
    assert (kind.suspend, kind.gate.group_label, kind.gate.size_annotation) == (
        (),
        "example.com/group",
        "example.com/size",
    )
