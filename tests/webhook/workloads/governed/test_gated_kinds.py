"""Pods of kinds that nothing suspends are put in the groups that their operators say; some objects are refused."""

from dataclasses import replace
from typing import Any

import pytest

from shared.kinds.kind import Kinds
from tests.shared.kinds.objects import metadata, preset
from tests.webhook.workloads.review_builders import (
    applied,
    codes,
    context,
    judge_pod,
    mutate_pod,
    plain_pod,
    refusals,
    review,
)
from webhook.verdicts import YES
from webhook.workloads.governed.gated_kinds import judge_gated_object

LWS = preset("LeaderWorkerSet")
GOVERNED = replace(context(), kinds=Kinds.of([LWS]))
KEY, SIZE = "leaderworkerset.sigs.k8s.io/group-key", "leaderworkerset.sigs.k8s.io/size"
GROUP, GROUP_SIZE = "quotree.dev/pod-group", "quotree.dev/pod-group-size"


def labels_of(body: Any) -> dict[str, str]:
    """Those of the pod as it is stored, without the one that names its quota group."""
    stored = applied(mutate_pod(review(body), GOVERNED), body)
    assert judge_pod(review(stored), GOVERNED) == YES
    return {name: text for name, text in stored["metadata"]["labels"].items() if name.startswith(GROUP)}


def test_pod_joins_the_pod_group_of_its_operator_labels() -> None:
    body = plain_pod(labels={KEY: "abc"}, annotations={SIZE: "3"})
    assert labels_of(body) == {GROUP: "abc", GROUP_SIZE: "3"}


@pytest.mark.parametrize(
    ("labels", "annotations", "found"),
    [
        pytest.param({}, {SIZE: "3"}, {}, id="no group"),
        pytest.param({KEY: "abc"}, {}, {}, id="no size"),
        pytest.param({KEY: "abc"}, {SIZE: "-1"}, {}, id="negative size"),
        pytest.param({KEY: "abc"}, {SIZE: "9999"}, {}, id="huge size"),
        pytest.param(
            {KEY: "abc", GROUP: "own", GROUP_SIZE: "2"},
            {SIZE: "3"},
            {GROUP: "own", GROUP_SIZE: "2"},
            id="its own group",
        ),
    ],
)
def test_other_pods_are_unchanged(labels: Any, annotations: Any, found: Any) -> None:
    assert labels_of(plain_pod(labels=labels, annotations=annotations)) == found


def test_pod_of_a_disabled_kind_joins_no_pod_group() -> None:
    body = plain_pod(labels={KEY: "abc"}, annotations={SIZE: "3"})
    assert GROUP not in applied(mutate_pod(review(body), context()), body)["metadata"]["labels"]


def a_set(startup: str = "LeaderCreated", **about: Any) -> Any:
    """A LeaderWorkerSet."""
    group = {"size": 3, "workerTemplate": {"spec": {"containers": []}}}
    spec = {"replicas": 2, "startupPolicy": startup, "leaderWorkerTemplate": group}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(**about),
        "spec": spec,
    }


def test_object_with_mutually_waiting_pods_is_refused() -> None:
    assert judge_gated_object(LWS, review(a_set()), GOVERNED) == YES
    found = judge_gated_object(LWS, review(a_set("LeaderReady")), GOVERNED)
    assert codes(found) == ["KindRefused"]
    assert "set spec.startupPolicy to LeaderCreated" in refusals(found)[0]
    topology = a_set(annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"})
    assert codes(judge_gated_object(LWS, review(topology), GOVERNED)) == ["KindRefused"]


def test_edit_is_refused_only_for_rules_that_it_breaks() -> None:
    assert judge_gated_object(LWS, review(a_set("LeaderReady"), a_set("LeaderReady")), GOVERNED) == YES
    assert codes(judge_gated_object(LWS, review(a_set("LeaderReady"), a_set()), GOVERNED)) == ["KindRefused"]
