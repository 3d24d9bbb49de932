"""A pod's request is what the scheduler counts for it."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.core.limitrange import container_defaults, read_limit_range
from shared.api.core.pod import PodSpec
from shared.api.core.pod_request import effective_request, unrequested
from shared.api.json.reading import reader
from shared.resources import QuantityError

read_spec = reader(PodSpec)
GI = 2**30


def asks(limits: Mapping[str, Any] | None = None, /, **requests: Any) -> dict[str, Any]:
    """A container that requests these and is limited to those."""
    return {"name": "c", "resources": {"requests": requests, "limits": dict(limits or {})}}


def gpus(count: int) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"nvidia.com/gpu": count}}}


def sidecar(**requests: Any) -> dict[str, Any]:
    return {**asks(**requests), "restartPolicy": "Always"}


def request(containers: list[Any], init: list[Any] | None = None, **spec: Any) -> Mapping[str, int]:
    return effective_request(read_spec({"containers": containers, "initContainers": init or [], **spec}))


CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "containers add up": ({"containers": [asks(cpu="1", memory="1Gi"), asks(cpu="500m")]}, {"cpu": 1500, "memory": GI}),
    "nothing asked": ({"containers": [asks()]}, {}),
    "zero is nothing": ({"containers": [asks(cpu="0", memory=0)]}, {}),
    "the hungriest init step counts": (
        {"containers": [asks(cpu="1")], "init": [asks(cpu="3"), asks(cpu="2")]},
        {"cpu": 3000},
    ),
    "init containers do not add up": (
        {"containers": [asks(cpu="4")], "init": [asks(cpu="3"), asks(cpu="3")]},
        {"cpu": 4000},
    ),
    "sidecars run beside containers": ({"containers": [asks(cpu="1")], "init": [sidecar(cpu="2")]}, {"cpu": 3000}),
    "sidecars started earlier run beside an init step": (
        {"containers": [asks(cpu="1")], "init": [sidecar(cpu="2"), asks(cpu="5"), sidecar(cpu="1")]},
        {"cpu": 7000},
    ),
    "sidecars started later do not": (
        {"containers": [asks(cpu="1")], "init": [asks(cpu="5"), sidecar(cpu="2")]},
        {"cpu": 5000},
    ),
    "limits stand in for requests": (
        {"containers": [asks({"cpu": "2", "memory": "1Gi"}, cpu="1")]},
        {"cpu": 1000, "memory": GI},
    ),
    "extended resources by limits": ({"containers": [asks({"nvidia.com/gpu": 2})]}, {"nvidia.com/gpu": 2}),
    "overhead is added": (
        {"containers": [asks(cpu="1")], "overhead": {"cpu": "250m", "memory": "64Mi"}},
        {"cpu": 1250, "memory": 2**26},
    ),
    "pod-level requests replace the sum": (
        {"containers": [asks(cpu="1", memory="1Gi")], "resources": {"requests": {"cpu": "4"}}},
        {"cpu": 4000, "memory": GI},
    ),
    "pod-level limits stand in where no container asks": (
        {"containers": [asks()], "resources": {"limits": {"cpu": "4", "memory": "2Gi"}}},
        {"cpu": 4000, "memory": 2 * GI},
    ),
    "containers' sum before the pod-level limit": (
        {"containers": [asks(cpu="1"), asks(cpu="1")], "resources": {"limits": {"cpu": "4"}}},
        {"cpu": 2000},
    ),
    "pod-level overhead still added": (
        {"containers": [asks()], "resources": {"requests": {"cpu": "1"}}, "overhead": {"cpu": "1"}},
        {"cpu": 2000},
    ),
    "pod-level extended resources are no such thing": (
        {"containers": [gpus(1)], "resources": {"requests": {"nvidia.com/gpu": 4}}},
        {"nvidia.com/gpu": 1},
    ),
    "rounded up once per pod": ({"containers": [asks(memory="100m")] * 10}, {"memory": 1}),
    "each quantity rounded to a thousandth first": ({"containers": [asks(cpu="1n")] * 2}, {"cpu": 2}),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_request_is_computed_like_kubernetes_does(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert request(**spec) == expected


def limit_range(name: str, *items: dict[str, Any]) -> Any:
    return read_limit_range({"metadata": {"name": name}, "spec": {"limits": list(items)}})


DEFAULTS: dict[str, tuple[list[Any], dict[str, int]]] = {
    "default request": ([limit_range("a", {"type": "Container", "defaultRequest": {"cpu": "2"}})], {"cpu": 2000}),
    "default limit is the request too": (
        [limit_range("a", {"type": "Container", "default": {"cpu": "3"}})],
        {"cpu": 3000},
    ),
    "max is the default limit": ([limit_range("a", {"type": "Container", "max": {"cpu": "4"}})], {"cpu": 4000}),
    "min is the last resort": ([limit_range("a", {"type": "Container", "min": {"cpu": "1"}})], {"cpu": 1000}),
    "pod items have no defaults": ([limit_range("a", {"type": "Pod", "max": {"cpu": "4"}})], {}),
    "the first object wins, by name": (
        [
            limit_range("b", {"type": "Container", "defaultRequest": {"cpu": "2", "memory": 1}}),
            limit_range("a", {"type": "Container", "defaultRequest": {"cpu": "1"}}),
        ],
        {"cpu": 1000, "memory": 1},
    ),
    "the last item wins within one object": (
        [
            limit_range(
                "a",
                {"type": "Container", "defaultRequest": {"cpu": "1"}},
                {"type": "Container", "defaultRequest": {"cpu": "2"}},
            )
        ],
        {"cpu": 2000},
    ),
}


@pytest.mark.parametrize(("limit_ranges", "expected"), DEFAULTS.values(), ids=DEFAULTS)
def test_limit_range_defaults_fill_in_missing_requests(limit_ranges: list[Any], expected: dict[str, int]) -> None:
    spec = read_spec({"containers": [asks()]})
    assert effective_request(spec, container_defaults(limit_ranges)) == expected


def test_limit_range_defaults_do_not_change_given_requests() -> None:
    defaults = container_defaults([limit_range("a", {"type": "Container", "default": {"cpu": "9", "memory": "9"}})])
    spec = read_spec({"containers": [asks({"memory": "2"}, cpu="1")], "initContainers": [asks()]})
    assert effective_request(spec, defaults) == {"cpu": 9000, "memory": 9}
    assert effective_request(read_spec({"containers": [asks({"memory": "2"}, cpu="1")]}), defaults) == {
        "cpu": 1000,
        "memory": 2,
    }


def test_overhead_of_the_runtime_class_counts_unless_the_pod_has_its_own() -> None:
    bare = read_spec({"containers": [asks(cpu="1")]})
    carrying = read_spec({"containers": [asks(cpu="1")], "overhead": {"cpu": "1"}})
    assert effective_request(bare, runtime_overhead={"cpu": "2"}) == {"cpu": 3000}
    assert effective_request(carrying, runtime_overhead={"cpu": "2"}) == {"cpu": 2000}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"containers": [asks(), asks(cpu="many")]},
            "containers[1].resources.requests[cpu]: 'many' is not a quantity; write for example 4, 500m, 1.5 or 16Gi",
        ),
        (
            {"containers": [], "initContainers": [asks(memory="-1")]},
            "initContainers[0].resources.requests[memory]: '-1' is negative; ask for 0 or more",
        ),
        (
            {"containers": [], "overhead": {"cpu": "1e999"}},
            "overhead[cpu]: 1e999 is out of range; a quantity is at least 0 and below 2^63 base units",
        ),
    ],
    ids=["no quantity", "negative", "out of range"],
)
def test_unreadable_request_names_the_field(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(QuantityError) as refused:
        effective_request(read_spec(spec))
    assert str(refused.value) == message


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/chip"]), st.integers(0, 5000), max_size=3)
CONTAINERS = st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=4)


def slow_request(containers: list[dict[str, int]], init: list[tuple[dict[str, int], bool]]) -> dict[str, int]:
    """By definition: the largest need at any moment of the pod's life, in thousandths, then rounded up."""
    found: dict[str, int] = {}
    for resource in ("cpu", "memory", "example.com/chip"):
        moments = []
        beside = Fraction(0)
        for amounts, stays in init:
            amount = Fraction(amounts.get(resource, 0), 1000)
            moments.append(beside + amount)
            beside += amount if stays else 0
        moments.append(beside + sum(Fraction(each.get(resource, 0), 1000) for each in containers))
        most = max(moments) * (1000 if resource == "cpu" else 1)
        if most:
            found[resource] = -(-most.numerator // most.denominator)
    return found


@given(st.lists(AMOUNTS, max_size=4), CONTAINERS)
def test_request_is_the_peak_over_the_life_of_the_pod(
    containers: list[dict[str, int]], init: list[tuple[dict[str, int], bool]]
) -> None:
    def written(amounts: dict[str, int]) -> dict[str, Any]:
        milli = {resource: f"{amount}m" for resource, amount in amounts.items()}
        return {"name": "c", "resources": {"requests": milli}}

    spec = read_spec(
        {
            "containers": [written(each) for each in containers],
            "initContainers": [
                {**written(amounts), **({"restartPolicy": "Always"} if stays else {})} for amounts, stays in init
            ],
        }
    )
    assert effective_request(spec) == slow_request(containers, init)


SILENT: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "all requested": ({"containers": [asks(cpu="1", memory="1Gi")]}, []),
    "a limit is a request": ({"containers": [asks({"cpu": "1", "memory": "1Gi"})]}, []),
    "zero is none": ({"containers": [asks(cpu="0", memory="1Gi")]}, [("containers[0]", "cpu")]),
    "init containers too": (
        {"containers": [asks(cpu="1", memory="1Gi")], "initContainers": [asks(cpu="1")]},
        [("initContainers[0]", "memory")],
    ),
    "the pod as a whole": (
        {"containers": [asks(), asks()], "resources": {"requests": {"cpu": "1"}}},
        [("containers[0]", "memory"), ("containers[1]", "memory")],
    ),
}


@pytest.mark.parametrize(("spec", "absent"), SILENT.values(), ids=SILENT)
def test_containers_that_request_no_cpu_or_memory_are_found(
    spec: dict[str, Any], absent: list[tuple[str, str]]
) -> None:
    assert list(unrequested(read_spec(spec))) == absent


def test_namespace_default_counts_as_a_request() -> None:
    given = {"metadata": {"name": "a"}, "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]}}
    defaults = container_defaults([read_limit_range(given)])
    assert unrequested(read_spec({"containers": [asks()]}), defaults) == (("containers[0]", "memory"),)
