"""The objects of the visibility API, their Tables, and the names hidden from a tenant."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from reconciler.visibility.front.discovery import discovery_document
from reconciler.visibility.objects.explanations import WorkloadsByNamespace, explanation_object
from reconciler.visibility.objects.groups import group_object, listed_group
from reconciler.visibility.objects.kinds import ALL_KINDS, EXPLANATION, GROUPS, PENDING
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import pending_object, places_of
from reconciler.visibility.objects.tables import table
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.forecast import Foreseen, NotForeseen, Unforeseen
from shared.quota.outlook.forecast.run_times import Basis
from shared.quota.outlook.outlook import Outlook
from shared.text.times import age_text
from tests.builders import NOW, after, evicting, pending, running, world

TREE = "root 8\n  vision 4\n  nlp 4"

FORECAST = {
    "forecast": Foreseen(NOW, NOW, frozenset(Basis), 0, 0).as_data() | NotForeseen(Unforeseen.TOO_FAR, 0, 0).as_data()
}


def observe(groups: str, *workloads: Workload) -> ObservedPlan:
    return ObservedPlan(Outlook.of(world(groups, workloads), NOW), leads=True)


def elsewhere(workload: Workload) -> Workload:
    """The same workload in another namespace."""
    return replace(workload, key=f"other/{workload.key.partition('/')[2]}")


def shown(observed: ObservedPlan, namespace: str | None) -> list[dict[str, Any]]:
    found = (pending_object(observed, place) for place in places_of(observed, namespace))
    return [each for each in found if each is not None]


def test_pending_workload_has_its_position_and_missing_amount() -> None:
    observed = observe(TREE, running("nlp", 6, "base"), running("vision", 2, "one"), pending("vision", 3, "two"))
    (found,) = shown(observed, "ns")
    assert found["metadata"] == {
        "name": "two",
        "namespace": "ns",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"quotree.dev/group": "vision"},
    }
    assert found["status"] == {
        "kind": "Job",
        "group": "vision",
        "position": 1,
        "reason": "WaitingForQuota",
        "message": "Job 'ns/two' waits: group 'root' lacks 3 of default/gpu (request 3, free 0); "
        "runs when used falls to 5",
        "priority": 0,
        "queued": "2026-01-01T00:00:00Z",
        "binding": "root",
        "flavor": "default",
        "resource": "gpu",
        "amount": 3,
        "missing": "3 gpu of default",
        "asOf": "2026-01-01T00:00:00Z",
        "servedBy": "Leader",
    }


def test_workload_started_by_the_plan_is_not_pending() -> None:
    assert shown(observe(TREE, pending("vision", 3, "two")), None) == []


def test_tenant_gets_its_own_workloads_with_their_overall_position() -> None:
    first = elsewhere(pending("vision", 9, "first", queued=after(-60)))
    observed = observe(TREE, running("nlp", 8, "base"), first, pending("vision", 9, "second"))
    assert [each["metadata"]["name"] for each in shown(observed, "ns")] == ["second"]
    assert shown(observed, "ns")[0]["status"]["position"] == 2
    assert [each["metadata"]["name"] for each in shown(observed, None)] == ["first", "second"]


def test_head_in_another_namespace_is_not_named() -> None:
    head = elsewhere(pending("vision", 4, "hidden", queued=after(-60)))
    observed = observe(
        "root 8\n  vision 4 strict\n  nlp 4", running("nlp", 8, "base"), head, pending("vision", 1, "own")
    )
    (own,) = shown(observed, "ns")
    assert own["status"]["reason"] == "BehindHead"
    assert own["status"]["message"].endswith(
        "group 'vision' is StrictFIFO and a workload of group 'vision' is before it"
    )
    workload = next(each for each in WorkloadsByNamespace().of(observed, "ns") if each.key == "ns/own")
    data = observed.outlook.explained(workload)
    assert data["behind"] == {"workload": "other/hidden", "group": "vision"}
    assert explanation_object(observed, workload, data, told_all=False)["status"]["behind"] == {"group": "vision"}


def test_explanation_sums_use_of_others_and_names_only_own_workloads() -> None:
    hidden = [elsewhere(running("nlp", 3, f"hidden-{each}", since=after(-each))) for each in range(2)]
    observed = observe(TREE, *hidden, running("vision", 2, "one"), pending("vision", 3, "two"))
    workload = next(each for each in WorkloadsByNamespace().of(observed, "ns") if each.key == "ns/two")
    data = observed.outlook.explained(workload)
    explained = explanation_object(observed, workload, data, told_all=False)
    assert "hidden" in msgspec.json.encode(data).decode()
    assert "hidden" not in msgspec.json.encode(explained).decode()
    assert explained["status"]["flavors"][0]["holders"] == [
        {"group": "nlp", "workloads": 2, "amount": 6, "borrowed": 2, "recyclable": False},
        {
            "workload": "ns/one",
            "group": "vision",
            "amount": 2,
            "borrowed": 0,
            "recyclable": False,
            "because": "NotLowerPriority",
        },
    ]
    waits = [each for each in explained["status"]["remedies"] if each["do"] == "WaitFor"]
    assert {"do": "WaitFor", "group": "nlp"} in waits
    assert {"do": "WaitFor", "group": "vision", "workload": "ns/one"} in waits


def test_group_object_names_no_workload_and_its_table_adds_up() -> None:
    observed = observe(TREE, running("nlp", 6, "base"), pending("vision", 5, "two"))
    found = group_object(observed, "vision")
    assert "base" not in msgspec.json.encode(found).decode()
    (division,) = found["status"]["division"]
    assert sum(each["runtime"] for each in division["children"]) + division["left"] == division["runtime"] == 8
    assert (found["status"]["pending"], found["status"]["admitted"], found["status"]["parent"]) == (1, 0, "root")
    del found["status"]["division"]
    assert listed_group(observed, "vision") == found


def test_table_has_the_expected_columns() -> None:
    full = (running("nlp", 4, "base"), running("vision", 4, "own"))
    observed = observe(TREE, *full, pending("vision", 3, "two", queued=after(-200)))
    found = table(PENDING, shown(observed, "ns"), {"resourceVersion": "1"}, "Metadata")
    assert [(each["name"], each["priority"]) for each in found["columnDefinitions"]] == [
        ("Name", 0),
        ("Group", 0),
        ("Place", 0),
        ("Reason", 0),
        ("Missing", 0),
        ("In", 0),
        ("Age", 0),
        ("Starts", 1),
        ("Message", 1),
    ]
    (row,) = found["rows"]
    assert row["cells"][:7] == ["two", "vision", 1, "WaitingForQuota", "3 gpu of default", "root", "3m20s"]
    assert row["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("forecast", "cell"),
    [
        ({}, ""),
        ({"forecast": Foreseen(NOW, NOW, frozenset(), 0, 0).as_data()}, "at 2026-01-01 00:00 UTC"),
        ({"forecast": NotForeseen(Unforeseen.TOO_FAR, 0, 0).as_data()}, "unknown"),
    ],
    ids=["not computed yet", "known", "not known"],
)
def test_table_says_when_a_workload_starts(forecast: dict[str, Any], cell: str) -> None:
    (item,) = shown(observe(TREE, running("nlp", 4, "base"), running("vision", 4), pending("vision", 3, "two")), "ns")
    (row,) = table(PENDING, [item | {"status": item["status"] | forecast}], {}, "None")["rows"]
    assert row["cells"][7] == cell


def test_place_is_empty_outside_the_queue() -> None:
    held = pending("vision", 1, "held", hold=True)
    full = (running("nlp", 4, "base"), running("vision", 4, "own"))
    observed = observe(TREE, *full, pending("vision", 3, "two"), held)
    waiting = table(PENDING, shown(observed, "ns"), {}, "None")
    assert [row["cells"][:3] for row in waiting["rows"]] == [["two", "vision", 1], ["held", "vision", ""]]
    objects = [
        explanation_object(observed, each, observed.outlook.explained(each), told_all=False)
        for each in WorkloadsByNamespace().of(observed, "ns")
    ]
    explained = table(EXPLANATION, objects, {}, "None")
    assert sorted(row["cells"][:4] for row in explained["rows"]) == [
        ["base", "nlp", "Running", ""],
        ["held", "vision", "Pending", ""],
        ["own", "vision", "Running", ""],
        ["two", "vision", "Pending", 1],
    ]


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(seconds=-3), "0s"),
        (timedelta(seconds=45), "45s"),
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=3, seconds=20), "3m20s"),
        (timedelta(minutes=25, seconds=9), "25m"),
        (timedelta(hours=5, minutes=12), "5h12m"),
        (timedelta(hours=30), "30h"),
        (timedelta(days=4, hours=2), "4d2h"),
        (timedelta(days=12, hours=5), "12d"),
    ],
)
def test_age_is_formatted_like_kubectl(age: timedelta, text: str) -> None:
    assert age_text(age) == text


def test_every_kind_is_in_every_discovery_document() -> None:
    plurals = [kind.plural for kind in ALL_KINDS]
    listed = discovery_document("/apis/visibility.quotree.dev/v1alpha1", "application/json")
    assert listed is not None
    assert [each["name"] for each in listed["resources"]] == plurals
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    aggregated = discovery_document("/apis", accept)
    assert aggregated is not None
    assert [each["resource"] for each in aggregated["items"][0]["versions"][0]["resources"]] == plurals
    for path in ("/openapi/v2", "/openapi/v3/apis/visibility.quotree.dev/v1alpha1"):
        document = discovery_document(path, "*/*")
        assert document is not None
        schemas = document.get("definitions") or document["components"]["schemas"]
        assert {each.rpartition(".")[2] for each in schemas} == {kind.kind for kind in ALL_KINDS}


def undescribed(value: Any, schema: dict[str, Any], path: str) -> list[str]:
    """The members of `value`, however deep, of which the schema says nothing."""
    if isinstance(value, list):
        return [found for each in value for found in undescribed(each, schema.get("items", {}), path)]
    if not isinstance(value, dict) or "additionalProperties" in schema:
        return []
    known, is_open = schema.get("properties", {}), "x-kubernetes-preserve-unknown-fields" in schema
    missing = [f"{path}.{name}" for name in value if name not in known and not is_open]
    return missing + [
        found
        for name in value.keys() & known.keys()
        for found in undescribed(value[name], known[name], f"{path}.{name}")
    ]


def test_kubectl_explains_every_member() -> None:
    head = elsewhere(pending("vision", 4, "head", queued=after(-60)))
    observed = observe(
        "root 8\n  vision 4 strict\n  nlp 4",
        *(running("nlp", 4, "base"), evicting(running("nlp", 3, "leaves"), pending("vision", 1, "own"))),
        *(head, pending("vision", 1, "own"), pending("nlp", 2, "again", evictions=2)),
    )
    found = [undescribed(each["status"] | FORECAST, PENDING.status, "pending") for each in shown(observed, None)]
    for workload in WorkloadsByNamespace().of(observed, None):
        data = observed.outlook.explained(workload) | {"remediesTried": True} | FORECAST
        for is_whole in (True, False):
            status = explanation_object(observed, workload, data, told_all=is_whole)["status"]
            found.append(undescribed(status, EXPLANATION.status, "explanation"))
    found.append(undescribed(group_object(observed, "nlp")["status"], GROUPS.status, "group"))
    assert [each for each in found if each] == []
