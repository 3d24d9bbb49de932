"""Objects are read from the API server's JSON and from manifests alike; what is null is absent."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.api.core.job import count_indexes, pods_at_once, read_job
from shared.api.core.node import allocatable, read_node
from shared.api.core.placement import ANYWHERE, Placement, Requirement, Toleration, read_placement, write_toleration
from shared.api.core.pod import PodSpec, read_pod
from shared.api.core.priority import Priorities, read_priority_class
from shared.api.json.reading import Unreadable, read_time, reader, write_time

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
read_spec = reader(PodSpec)


def test_json_and_manifest_are_read_alike() -> None:
    text = b'{"metadata":{"name":"a","creationTimestamp":"2026-03-01T12:00:00Z"},"spec":{"parallelism":2,"x":[{}]}}'
    manifest = {"metadata": {"name": "a", "creationTimestamp": NOON}, "spec": {"parallelism": 2}}
    assert read_job(text) == read_job(manifest)


def test_null_fields_count_as_absent() -> None:
    text = (
        b'{"metadata":{"name":"a","labels":null,"creationTimestamp":null},'
        b'"spec":{"suspend":null,"template":{"spec":{"containers":null}}},"status":null}'
    )
    assert read_job(text) == read_job({"metadata": {"name": "a"}})


def test_time_without_zone_is_utc() -> None:
    job = read_job({"metadata": {"name": "a", "creationTimestamp": NOON.replace(tzinfo=None)}})
    assert job.metadata.created == NOON


UNREADABLE = {
    "no JSON": (b"{", "Input data was truncated"),
    "deep": (b'{"x":' * 100_000, "nested too deeply"),
    "label a number": ({"metadata": {"labels": {"a": 1}}}, "Expected `str`, got `int` - at `$.metadata.labels[...]`"),
    "parallelism text": ({"spec": {"parallelism": "2"}}, "Expected `int | null`, got `str` - at `$.spec.parallelism`"),
    "parallelism huge": ({"spec": {"parallelism": 2**31}}, "Expected `int` <= 2147483647 - at `$.spec.parallelism`"),
    "spec a list": ({"spec": []}, "Expected `object`, got `array` - at `$.spec`"),
}


@pytest.mark.parametrize(("raw", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_invalid_job_is_reported_with_the_field_path(raw: Any, message: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_job(raw)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("3", 1), ("1,3-5,7", 5), ("5-3", 0), ("a,2", 1), ("1-99999999999", 0), ("\u0663", 0)],
)
def test_completed_indexes_are_counted(text: str, count: int) -> None:
    assert count_indexes(text) == count


@pytest.mark.parametrize(
    ("parallelism", "completions", "pods"), [(None, None, 1), (3, None, 3), (3, 2, 2), (None, 0, 0), (-1, None, 0)]
)
def test_concurrent_pods_of_a_job_are_computed(parallelism: int | None, completions: int | None, pods: int) -> None:
    assert pods_at_once(parallelism, completions) == pods


SUSPENDED = {"type": "Suspended", "status": "True"}
STARTED = {"startTime": "2026-03-01T12:00:00Z"}
KEPT_START_TIMES: dict[str, tuple[dict[str, Any], dict[str, Any], bool, bool]] = {
    "runs": ({"suspend": False}, {**STARTED, "active": 1}, False, True),
    "suspension not noted": ({"suspend": True}, STARTED, False, True),
    "resumed, not noted": ({"suspend": False}, {**STARTED, "conditions": [SUSPENDED]}, False, True),
    "kept": ({"suspend": True}, {**STARTED, "conditions": [SUSPENDED]}, True, False),
    "kept, pods are ending": ({"suspend": True}, {**STARTED, "conditions": [SUSPENDED], "terminating": 1}, True, True),
    "reset": ({"suspend": True}, {"conditions": [SUSPENDED]}, False, False),
    "of another controller": (
        {"suspend": True, "managedBy": "x/y"},
        {**STARTED, "conditions": [SUSPENDED]},
        False,
        True,
    ),
    "failed": (
        {"suspend": True},
        {**STARTED, "conditions": [SUSPENDED, {"type": "Failed", "status": "True"}]},
        False,
        True,
    ),
}


@pytest.mark.parametrize(("spec", "status", "keeps", "has_pods"), KEPT_START_TIMES.values(), ids=KEPT_START_TIMES)
def test_start_time_kept_after_the_suspension_was_noted_is_no_sign_of_pods(
    spec: dict[str, Any], status: dict[str, Any], keeps: bool, has_pods: bool
) -> None:
    job = read_job({"metadata": {"name": "a"}, "spec": spec, "status": status})
    assert (job.keeps_start_time, job.has_pods) == (keeps, has_pods)


def test_schedulable_node_offers_its_allocatable_rounded_down() -> None:
    node = read_node({"status": {"allocatable": {"cpu": "1500m", "memory": "1500m", "nvidia.com/gpu": 2}}})
    assert allocatable(node) == {"cpu": 1500, "memory": 1, "nvidia.com/gpu": 2}
    assert node.takes_pods
    assert not read_node({"spec": {"unschedulable": True}}).takes_pods
    assert not read_node({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}).takes_pods
    condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert read_node({"status": {"conditions": [condition]}}).not_ready_since == datetime(2026, 1, 1, tzinfo=UTC)
    assert read_node({"status": {"conditions": [{**condition, "status": "True"}]}}).not_ready_since is None
    assert allocatable(read_node({"status": {"capacity": {"cpu": 1}}})) == {"cpu": 1000}


def test_placement_has_only_binding_terms() -> None:
    spec = read_spec(
        {
            "nodeSelector": {"gpu": "a100"},
            "tolerations": [{"operator": "Exists"}, {"key": "k", "tolerationSeconds": 5}],
            "affinity": {
                "podAffinity": {},
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
                            {},
                            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
                        ]
                    },
                },
            },
        }
    )
    assert read_placement(spec) == Placement(
        {"gpu": "a100"},
        ((Requirement("zone", "In", ("a", "b")),), ()),
        (Toleration(operator="Exists"), Toleration("k", "Equal", "", "", 5)),
    )
    assert read_placement(read_spec({"affinity": {"podAffinity": {}}})).affinity is None
    assert read_placement(read_spec({})) is ANYWHERE


def test_empty_toleration_fields_are_omitted() -> None:
    assert write_toleration(Toleration("k", "Equal", "v", "NoSchedule")) == {
        "operator": "Equal",
        "key": "k",
        "value": "v",
        "effect": "NoSchedule",
    }
    assert write_toleration(Toleration(operator="Exists", toleration_seconds=0)) == {
        "operator": "Exists",
        "tolerationSeconds": 0,
    }


def test_priority_comes_from_the_pod_then_its_class_then_the_default() -> None:
    priorities = Priorities.of(
        [
            read_priority_class({"metadata": {"name": "high"}, "value": 100}),
            read_priority_class({"metadata": {"name": "usual"}, "value": 10, "globalDefault": True}),
            read_priority_class({"metadata": {"name": "less"}, "value": 5, "globalDefault": True}),
        ]
    )
    assert [
        priorities.of_pod(read_spec(spec))
        for spec in (
            {"priority": -7, "priorityClassName": "high"},
            {"priorityClassName": "high"},
            {"priorityClassName": "system-node-critical"},
            {"priorityClassName": "unheard-of"},
            {},
        )
    ] == [-7, 100, 2_000_001_000, 5, 5]


def test_pod_is_matched_to_its_job() -> None:
    owners = [
        {"kind": "Job", "apiVersion": "batch/v1", "uid": "other"},
        {"kind": "Job", "apiVersion": "batch/v1", "uid": "j", "controller": True},
    ]
    assert read_pod({"metadata": {"ownerReferences": owners}}).owner_job == "j"
    stranger = [{"kind": "Job", "apiVersion": "example.com/v1", "uid": "j", "controller": True}]
    assert read_pod({"metadata": {"ownerReferences": stranger}}).owner_job is None


def test_times_are_written_in_utc_with_microseconds() -> None:
    assert write_time(NOON) == "2026-03-01T12:00:00.000000Z"
    assert read_time("2026-03-01T13:00:00.5+01:00") == NOON + timedelta(milliseconds=500)
    assert [read_time(text) for text in ("2026-03-01T12:00:00", "yesterday", "")] == [None, None, None]
