"""The trace comes to both contenders alike; what a watch of Jobs shows becomes starts, waiting and idle GPUs."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.course import Asked, Course, Event, Sample, What, averages, samples
from benchmarks.day import arrivals
from benchmarks.starting.organisation import GPUS, TEAMS, groups, holding, promises, queues
from dev.openb.manifests import GPU, flavor_name
from dev.openb.records import PodRecord
from shared.api.core.job import Job, read_job
from shared.kube.watch.cache import Changed

MODEL = "model"
CREATED, STARTED, EVICTED, FREED, ENDED = What
FINISHED = {"conditions": [{"type": "Complete", "status": "True"}]}


def seen(*, suspend: bool, flavor: str = "", **status: Any) -> Job:
    selector = {"nodeSelector": {MODEL: flavor}} if flavor else {}
    spec = {"suspend": suspend, "template": {"spec": selector}}
    return read_job({"metadata": {"name": "a"}, "spec": spec, "status": status})


def course(*versions: Job) -> list[Event]:
    found = Course(MODEL)
    for now, (before, after) in enumerate(zip((None, *versions), versions, strict=False)):
        found.see([Changed(before, after)], float(now))
    return found.events


def test_a_course_tells_of_a_job_that_is_evicted_starts_again_and_ends() -> None:
    events = course(
        seen(suspend=True),
        seen(suspend=False, flavor="t4"),
        seen(suspend=False, flavor="t4", active=1),
        seen(suspend=True, active=1),
        seen(suspend=True, terminating=1),
        seen(suspend=True),
        seen(suspend=False, flavor="g2"),
        seen(suspend=False, flavor="g2", active=0, **FINISHED),
        seen(suspend=False, flavor="g2", active=0, succeeded=1, **FINISHED),
    )
    assert [(each.at, each.what, each.flavor) for each in events] == [
        (0, CREATED, ""),
        (1, STARTED, "t4"),
        (3, EVICTED, ""),
        (5, FREED, ""),
        (6, STARTED, "g2"),
        (7, ENDED, ""),
    ]


def test_a_job_whose_start_and_creation_are_seen_at_once_did_both() -> None:
    assert [each.what for each in course(seen(suspend=False, flavor="t4"))] == [CREATED, STARTED]


ASKED = {
    "runs": Asked(2, ("t4",), 1),
    "small": Asked(1, ("t4",), 1),
    "large": Asked(4, ("t4",), 1),
    "urgent": Asked(2, ("g2", "t4"), 2),
    "none": Asked(0, ("t4", "g2"), 1),
}


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        ((), Sample(1.0, 0, 0, 2, 0)),
        (("small",), Sample(1.0, 1, 1, 2, 1)),
        (("large",), Sample(1.0, 1, 0, 2, 0)),
        (("small", "urgent"), Sample(1.0, 2, 1, 2, 2)),
        (("none", "large"), Sample(1.0, 2, 1, 2, 0)),
    ],
    ids=["nobody", "it fits", "it does not fit", "one takes the other's", "no GPUs needed"],
)
def test_a_sample_tells_who_waits_though_gpus_are_idle(waiting: tuple[str, ...], expected: Sample) -> None:
    events = [Event(0.1, CREATED, "runs"), Event(0.2, STARTED, "runs", "t4")]
    events += [Event(0.3, CREATED, name) for name in waiting]
    assert list(samples(events, ASKED, {"t4": 4, "g2": 0}, 1.0, 1.0)) == [expected]


def test_gpus_are_idle_once_the_pods_of_an_evicted_job_have_ended() -> None:
    events = [
        Event(0.5, CREATED, "runs"),
        Event(0.6, STARTED, "runs", "t4"),
        Event(1.5, EVICTED, "runs"),
        Event(2.5, FREED, "runs"),
        Event(3.5, STARTED, "runs", "t4"),
        Event(4.5, ENDED, "runs"),
    ]
    found = list(samples(events, ASKED, {"t4": 4}, 5.0, 1.0))
    assert [(each.waiting, each.could_run, each.idle) for each in found] == [
        (0, 0, 2),
        (1, 0, 2),
        (1, 1, 4),
        (0, 0, 2),
        (0, 0, 4),
    ]


def test_averages_are_of_equal_parts() -> None:
    assert averages([1, 3, 5, 7], 2) == [2, 6]
    assert averages([1, 3], 60) == [1, 3]
    assert averages([], 60) == []


def test_the_whole_trace_comes_at_one_pace() -> None:
    coming, factor = arrivals(20)
    slower, other = arrivals(40)
    assert (len(coming), len({each.pod.name for each in coming}), round(factor)) == (7781, 7781, 2258)
    assert [each.at for each in coming] == sorted(each.at for each in coming)
    assert coming[-1].at == pytest.approx(20 * 60)
    assert factor == 2 * other
    assert [2 * each.runs for each in coming] == pytest.approx([each.runs for each in slower])
    assert [each.team for each in coming] == [each.team for each in slower]
    assert {each.team for each in coming} == set(TEAMS)


def test_a_pod_gets_models_of_which_a_node_and_the_organisation_have_enough_for_it() -> None:
    pod = PodRecord("p", 1000, 1024, 8, frozenset(), "LS", 0, 1, 0)
    assert holding(pod) == ["G2", "G3"]
    assert holding(PodRecord("p", 1000, 1024, 1, frozenset({"T4", "A10"}), "LS", 0, 1, 0)) == ["T4", "A10"]


def test_both_contenders_have_the_same_tree() -> None:
    ours = {each["metadata"]["name"]: each["spec"] for each in groups()}
    theirs = {each["metadata"]["name"]: each["spec"] for each in queues() if each["kind"] == "ClusterQueue"}
    for team in TEAMS:
        assert ours[team]["parent"] == theirs[team]["cohortName"]
        assert _ours(ours[team]) == _theirs(theirs[team])
    whole = {flavor_name(model): sum(promises()[team][model][GPU] for team in TEAMS) for model in GPUS}
    assert whole == {flavor_name(model): gpus for model, gpus in GPUS.items()}
    assert whole == {each["flavor"]: each["max"][GPU] for each in ours["root"]["quotas"]}


def _ours(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {each["flavor"]: each["min"] for each in spec["quotas"]}


def _theirs(spec: Mapping[str, Any]) -> dict[str, Any]:
    (group,) = spec["resourceGroups"]
    return {
        each["name"]: {resource["name"]: resource["nominalQuota"] for resource in each["resources"]}
        for each in group["flavors"]
    }
