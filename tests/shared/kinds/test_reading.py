"""What descriptors read from objects: sets, counts, states; and from hostile ones: problems by name."""

import json
from typing import Any

import msgspec
import pytest

from shared.api.json.reading import Unreadable
from shared.kinds.kind import compile_kind
from shared.kinds.reading import read_kind_object
from tests.shared.kinds.objects import entry, jobset, preset, pytorchjob, read, replicated, sizes, template


def test_jobset_is_read() -> None:
    seen = read(
        jobset(
            replicated("driver", "2"),
            replicated("workers", "4", replicas=3, parallelism=8, completions=5),
            replicated("none", replicas=0),
            suspend=True,
        )
    )
    assert sizes(seen) == {"driver": 1, "workers": 15, "none": 0}
    assert (seen.suspended, seen.noted, seen.finished, seen.problems) == (True, False, False, ())
    assert seen.pod_sets[1].template == ("spec", "replicatedJobs", 1, "template", "spec", "template")
    assert seen.pod_sets[1].spec.containers[0].resources.requests == {"cpu": "4"}


def test_pytorchjob_is_read() -> None:
    seen = read(pytorchjob(Worker={"replicas": 4, "template": template()}, Master={"template": template()}))
    assert sizes(seen) == {"Master": 1, "Worker": 4}
    assert (seen.suspended, seen.suspend.at, seen.suspend.present) == (False, ("spec", "runPolicy", "suspend"), 1)


@pytest.mark.parametrize(
    ("conditions", "noted", "finished"),
    [
        ([], False, False),
        ([{"type": "Suspended", "status": "True"}], False, False),
        ([{"type": "Suspended", "status": "False"}], True, False),
        ([{"type": "Completed", "status": "True"}], False, True),
        ([{"type": "Failed", "status": "False"}], False, False),
        ([None, 3, {"type": ["Failed"]}, {"type": "Failed", "status": "True"}], False, True),
        ("Failed", False, False),
        ({"type": "Failed", "status": "True"}, False, False),
    ],
)
def test_conditions_are_read(conditions: Any, noted: bool, finished: bool) -> None:
    seen = read(jobset(replicated("a")) | {"status": {"conditions": conditions}})
    assert (seen.noted, seen.finished) == (noted, finished)


def test_text_and_mapping_are_read_equal() -> None:
    written = jobset(replicated("a", replicas=2))
    seen = read(written)
    assert seen == read_kind_object(preset("JobSet"), json.dumps(written).encode())
    assert seen == read_kind_object(preset("JobSet"), msgspec.Raw(json.dumps(written).encode()))
    assert seen != read(jobset(replicated("a", replicas=3)))


def test_null_field_counts_as_absent() -> None:
    written = jobset(replicated("a") | {"replicas": None}, suspend=None)
    written["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = None
    assert (sizes(read(written)), read(written).suspended, read(written).problems) == ({"a": 1}, False, ())


JOB = "spec.replicatedJobs[0]"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"replicatedJobs": "x"}, "spec.replicatedJobs is the text 'x', neither a list nor a mapping"),
        ({"replicatedJobs": ["x"]}, f"{JOB} is the text 'x', not a mapping"),
        ({"replicatedJobs": [{}]}, f"{JOB}.name is nothing; the name of a pod set is a label's value"),
        ({"replicatedJobs": [{"name": "ä"}]}, f"{JOB}.name is the text 'ä'; the name of a pod set"),
        ({"replicatedJobs": [{"name": "a" * 64}]}, "the name of a pod set is a label's value of 1 to 63 characters"),
        ({"replicatedJobs": [{"name": "a"}]}, f"{JOB}.template.spec.template is absent; it must be a pod template"),
        (
            {"replicatedJobs": [{"name": "a", "template": 3}]},
            f"{JOB}.template is 3, not a mapping",
        ),
        (
            {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {}}}}]},
            f"{JOB}.template.spec.template.spec is absent; it must be a pod spec",
        ),
        (
            {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": {"containers": 1}}}}}]},
            f"{JOB}.template.spec.template.spec cannot be read: Expected `array`",
        ),
        ({"replicatedJobs": [replicated("a", replicas=-1)]}, f"{JOB}.replicas is -1; it must be a whole number from 0"),
        (
            {"replicatedJobs": [replicated("a", replicas="3")]},
            f"{JOB}.replicas is the text '3'; it must be a whole number",
        ),
        ({"replicatedJobs": [replicated("a", replicas=1.5)]}, f"{JOB}.replicas is 1.5; it must be a whole number"),
        ({"replicatedJobs": [replicated("a", replicas=True)]}, f"{JOB}.replicas is true; it must be a whole number"),
        ({"replicatedJobs": [replicated("a", replicas=[1])]}, f"{JOB}.replicas is a list, not a number"),
        ({"replicatedJobs": [replicated("a", replicas=2**31)]}, "is 2147483648; it must be a whole number from 0 to"),
        (
            {"replicatedJobs": [replicated("a", replicas=10**400)]},
            "is a number of more than 38 digits; it is too large",
        ),
        (
            {"replicatedJobs": [replicated("a", replicas=2**30, parallelism=2**30)]},
            f"the number of pods of {JOB} is 1152921504606846976; it must be from 0 to 2147483647",
        ),
        ({"replicatedJobs": [replicated("a"), replicated("a")]}, "it has 2 pod sets of the name 'a'"),
        ({"replicatedJobs": [replicated(f"j{n}") for n in range(9)]}, "it has 9 pod sets at .spec.replicatedJobs"),
        ({"replicatedJobs": [replicated("a")] * 10_000}, "spec.replicatedJobs has 10000 members; at most 1024"),
        ({"suspend": "yes", "replicatedJobs": []}, "spec.suspend is the text 'yes', neither true nor false"),
    ],
)
def test_hostile_objects_have_named_problems(spec: dict[str, Any], problem: str) -> None:
    seen = read(jobset() | {"spec": spec})
    assert problem in "; ".join(seen.problems)
    assert seen.pod_sets == ()


@pytest.mark.parametrize("spec", ["x", [], 3, True])
def test_spec_of_another_type_is_a_problem(spec: Any) -> None:
    seen = read(jobset() | {"spec": spec})
    assert seen.problems
    assert all(problem.startswith("spec is ") for problem in seen.problems)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"3", b'"x"', b'{"metadata": 3}', b'{"metadata": {"name": 3}}', b"\xff", b"[" * 100_000]
)
def test_invalid_object_is_unreadable(text: bytes) -> None:
    with pytest.raises(Unreadable):
        read_kind_object(preset("JobSet"), text)


def test_deeply_nested_fields_are_not_read() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = {"a": deep}
    assert sizes(read(jobset(replicated("a") | {"extra": deep}, extra=deep))) == {"a": 1}


DESCRIPTOR = """
apiVersion: example.com/v1
kind: Crunch
resource: crunches
suspend: .spec.paused
podSets:
- each: .spec.steps[*].parts[*]
  values: {n: .n | 1, ids: '.ids[*]'}
  count: "size(ids) > 0 ? size(ids) : n"
- {name: leader, template: .spec.leader, when: {path: .spec.leader, present: true}}
- name: helper
  template: .spec.helper
  when: {path: '.spec.mode | "with"', in: [with]}
  absent:
    template: {spec: {containers: [{name: h, resources: {requests: {cpu: 500m}}}]}}
    copy: {".spec.containers[0].image": ".spec.image"}
skip: [{path: .spec.uses, present: true}]
refuse:
- {each: ".spec.steps[*]", expression: grows, values: {grows: .grows | false}, because: it grows, remedy: fix its size}
finished: [{path: .status.phase, in: [Done, Lost]}]
noted: [{expression: "seen >= now", values: {seen: .status.observed | 0, now: .metadata.generation | 0}}]
"""


def crunch(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "c", "namespace": "ns", "generation": 2}, "spec": spec}


KIND = compile_kind(entry(DESCRIPTOR))


def part(**fields: Any) -> dict[str, Any]:
    return {"template": template(), **fields}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"mode": "alone"}, {}),
        ({"steps": [{"parts": [part(n=2), part()]}, {"parts": [part(ids=[1, 2, 3])]}], "mode": "alone"},
         {"0-0": 2, "0-1": 1, "1-0": 3}),
        ({"steps": {"a": {"parts": {"b": part()}}}, "mode": "alone"}, {"a-b": 1}),
        ({"leader": template(), "mode": "alone"}, {"leader": 1}),
        ({"leader": template()}, {"leader": 1, "helper": 1}),
        ({"uses": "another"}, {}),
    ],
)  # fmt: skip
def test_custom_descriptor_is_read(spec: dict[str, Any], found: dict[str, int]) -> None:
    seen = read_kind_object(KIND, crunch(**spec))
    assert (sizes(seen), seen.problems) == (found, ())
    assert seen.skipped == ("uses" in spec)


def test_template_known_only_to_the_operator_is_a_problem() -> None:
    (helper,) = read_kind_object(KIND, crunch(image="i:1")).pod_sets
    requests = {"requests": {"cpu": "500m"}}
    assert helper.added == {"spec": {"containers": [{"name": "h", "resources": requests, "image": "i:1"}]}}
    assert helper.spec.containers[0].resources.requests == {"cpu": "500m"}
    assert helper.labels.present == 2  # spec and the template itself, which the same patch writes


def test_object_that_cannot_be_governed_completely_is_a_problem() -> None:
    steps = [{"parts": []}, {"parts": [], "grows": True}]
    assert read_kind_object(KIND, crunch(steps=steps)).refusals == ("it grows; fix its size",)
    assert read_kind_object(KIND, crunch(steps=steps[:1])).refusals == ()
    assert read_kind_object(KIND, crunch(steps=steps, uses="another")).refusals == ()


@pytest.mark.parametrize(
    ("status", "noted", "finished"),
    [
        ({"observed": 1, "phase": "Busy"}, False, False),
        ({"observed": 2, "phase": "Lost"}, True, True),
        ({"observed": "x"}, False, False),
        ("x", False, False),
    ],
)
def test_state_is_read(status: Any, noted: bool, finished: bool) -> None:
    seen = read_kind_object(KIND, crunch() | {"status": status})
    assert (seen.noted, seen.finished) == (noted, finished)


NAMED = compile_kind(
    entry("""
apiVersion: example.com/v1
kind: Wrap
resource: wraps
suspend: .spec.suspend
podSets:
- {within: ".spec.parts[*]", each: ".sets[*]", templateNamedBy: .path, values: {n: .replicas | 1}, count: n}
""")
)


def test_template_is_read_from_the_path_of_its_pod_set() -> None:
    parts = [{"sets": [{"path": "body.spec.template", "replicas": 3}], "body": {"spec": {"template": template("2")}}}]
    (found,) = read_kind_object(NAMED, crunch(parts=parts)).pod_sets
    assert (found.name, found.count) == ("0-0", 3)
    assert found.template == ("spec", "parts", 0, "body", "spec", "template")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (None, "spec.parts[0].sets[0].path is nothing, not the path of a pod template"),
        (3, "spec.parts[0].sets[0].path is 3, not the path of a pod template"),
        ("a[?(@)]", "spec.parts[0].sets[0].path: 'a[?(@)]' is no path"),
        ("a[*]", "spec.parts[0].sets[0].path leads to several places"),
        ("a.b.c", "spec.parts[0].a.b.c is absent; it must be a pod template"),
        ("sets.b", "spec.parts[0].sets is a list, not a mapping"),
        (".a" * 1000, "a path has at most 512 characters, this one 2000"),
    ],
)
def test_dangling_template_path_is_a_problem(path: Any, problem: str) -> None:
    seen = read_kind_object(NAMED, crunch(parts=[{"sets": [{"path": path}]}]))
    assert problem in "; ".join(seen.problems)
