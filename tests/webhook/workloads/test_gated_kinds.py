"""Pods of kinds that nothing suspends are put in the groups that their operators say; some objects are refused."""

from dataclasses import replace
from typing import Any

import pytest

from shared.kinds.kind import Kinds
from tests.shared.kinds.objects import metadata, preset
from tests.webhook.workloads.review_builders import applied, codes, context, plain_pod, refusals, review
from webhook.verdicts import YES
from webhook.workloads.gated_kinds import judge_gated_object
from webhook.workloads.pods import judge_pod, mutate_pod

LWS = preset("LeaderWorkerSet")
GOVERNED = replace(context(), kinds=Kinds.of([LWS]))
KEY, SIZE = "leaderworkerset.sigs.k8s.io/group-key", "leaderworkerset.sigs.k8s.io/size"
GROUP, GROUP_SIZE = "quotree.dev/pod-group", "quotree.dev/pod-group-size"


def labels_of(body: Any) -> dict[str, str]:
    """Those of the pod as it is stored, without the one that names its quota group."""
    stored = applied(mutate_pod(review(body), GOVERNED), body)
    assert judge_pod(review(stored), GOVERNED) == YES
    return {name: text for name, text in stored["metadata"]["labels"].items() if name.startswith(GROUP)}


def test_a_pod_is_a_member_of_the_group_that_its_operator_puts_it_in() -> None:
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
def test_any_other_pod_is_left_as_it_is(labels: Any, annotations: Any, found: Any) -> None:
    assert labels_of(plain_pod(labels=labels, annotations=annotations)) == found


def test_a_pod_of_a_kind_that_is_off_is_no_member() -> None:
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


def test_an_object_whose_pods_would_wait_for_each_other_is_refused_and_others_pass() -> None:
    assert judge_gated_object(LWS, review(a_set()), GOVERNED) == YES
    found = judge_gated_object(LWS, review(a_set("LeaderReady")), GOVERNED)
    assert codes(found) == ["KindRefused"]
    assert "set spec.startupPolicy to LeaderCreated" in refusals(found)[0]
    topology = a_set(annotations={"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"})
    assert codes(judge_gated_object(LWS, review(topology), GOVERNED)) == ["KindRefused"]


def test_an_edit_is_refused_for_what_it_breaks_alone() -> None:
    assert judge_gated_object(LWS, review(a_set("LeaderReady"), a_set("LeaderReady")), GOVERNED) == YES
    assert codes(judge_gated_object(LWS, review(a_set("LeaderReady"), a_set()), GOVERNED)) == ["KindRefused"]
