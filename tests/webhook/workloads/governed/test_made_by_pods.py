"""Which pods a pod of a started object may make, such as the executors of a Spark driver."""

from typing import Any

import msgspec
import pytest

from shared.api.core.metadata import Metadata, OwnerReference
from shared.api.core.pod import Pod, PodSpec, read_pod
from shared.api.review import User
from shared.kinds.kind_object import KindObject, KindPodSet
from tests.shared.kinds.objects import metadata, read
from tests.webhook.workloads.review_builders import codes, context, judge_pod, mutate_pod, plain_pod, review
from webhook.verdicts import YES
from webhook.workloads.governed.made_by_pods import POD_UID, find_set, is_sent_by
from webhook.workloads.review_context import Cover

APPLICATION = "uid-train"
EXECUTOR = Metadata(labels={"quotree.dev/pod-set": "executor"})
DRIVER = OwnerReference("Pod", "train-driver", "d1", "v1")


def application(**spec: Any) -> KindObject:
    body = {"driver": {}, "executor": {"instances": 2}, "suspend": False, **spec}
    return read({"kind": "SparkApplication", "metadata": metadata(), "spec": body})


def driver(unit: str = APPLICATION, pod_set: str = "driver", **changes: Any) -> Pod:
    labels = {"quotree.dev/unit": unit, "quotree.dev/pod-set": pod_set}
    owner = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "name": "train"}
    owners = [{**owner, "uid": unit, "controller": True}]
    body = {"name": "train-driver", "uid": "d1", "labels": labels, "ownerReferences": owners, **changes}
    return read_pod(msgspec.json.encode({"metadata": body}))


def found(maker: Pod, made_for: KindObject, made: Metadata = EXECUTOR, present: int = 0) -> KindPodSet | str:
    return find_set(maker, made_for, made, lambda _unit, _pod_set: present)


@pytest.mark.parametrize(
    ("owner", "extra", "believed"),
    [
        (DRIVER, {POD_UID: ["d1"]}, True),
        (DRIVER, {POD_UID: ["d2"]}, False),
        (DRIVER, {POD_UID: ["d2", "d1"]}, False),
        (DRIVER, {}, False),
        (OwnerReference("Pod", "train-driver", "", "v1"), {POD_UID: [""]}, False),
        (OwnerReference("Job", "train-driver", "d1", "batch/v1"), {POD_UID: ["d1"]}, False),
    ],
)
def test_only_the_pod_itself_is_believed(owner: OwnerReference, extra: dict[str, list[str]], believed: bool) -> None:
    assert is_sent_by(owner, User(username="system:serviceaccount:ns:spark", extra=extra)) is believed


def test_executor_belongs_to_its_set_while_fewer_are_there_than_declared() -> None:
    for present in (0, 1):
        pod_set = found(driver(), application(), present=present)
        assert isinstance(pod_set, KindPodSet)
        assert pod_set.name == "executor"
    assert found(driver(), application(), present=2) == (
        "SparkApplication train was started with 2 pods of set executor, which have not ended"
    )


@pytest.mark.parametrize(
    ("maker", "made_for", "made", "why"),
    [
        (driver(unit="u2"), application(), EXECUTOR, "pod train-driver was not started for SparkApplication train"),
        (
            driver(deletionTimestamp="2026-01-01T00:00:00Z"),
            application(),
            EXECUTOR,
            "pod train-driver was not started for SparkApplication train",
        ),
        (driver(), application(suspend=True), EXECUTOR, "SparkApplication train is not started"),
        (driver(pod_set="executor"), application(), EXECUTOR, "names no pods"),
        (driver(), application(), Metadata(labels={"quotree.dev/pod-set": "driver"}), "names no pods"),
        (driver(), application(), Metadata(), "names no pods"),
    ],
    ids=["another object's", "ending", "held", "an executor", "a second driver", "without a set"],
)
def test_refusal_of_other_pods_says_what_is_wrong(maker: Pod, made_for: KindObject, made: Metadata, why: str) -> None:
    answer = found(maker, made_for, made)
    assert isinstance(answer, str)
    assert why in answer


@pytest.mark.parametrize(
    ("cpu", "selector", "broken"),
    [
        ("1", {"model": "t4"}, []),
        ("1", {"model": "t4", "disk": "fast"}, []),
        ("2", {"model": "t4"}, ["GrowthWhileRunning"]),
        ("1", {}, ["ReservedLabel"]),
        ("1", {"model": "a100"}, ["ReservedLabel"]),
    ],
)
def test_made_pod_is_no_larger_and_goes_nowhere_else_than_declared(
    cpu: str, selector: dict[str, str], broken: list[str]
) -> None:
    at_most = read_pod(msgspec.json.encode(plain_pod(None, cpu="1"))).spec
    at_most = msgspec.structs.replace(at_most, node_selector={"model": "t4"})
    assert isinstance(at_most, PodSpec)
    made = context(namespace={"quotree.dev/group": "vision"}, cover=Cover("u1", "vision", at_most))
    body = plain_pod("vision", cpu=cpu, nodeSelector=selector)
    body["metadata"]["labels"]["quotree.dev/unit"] = "u1"
    assert mutate_pod(review(body), made) == YES
    assert codes(judge_pod(review(body), made)) == broken


def test_pod_that_its_object_does_not_cover_is_refused_with_the_reason() -> None:
    body = plain_pod("vision")
    body["metadata"]["labels"]["quotree.dev/unit"] = "u1"
    verdict = judge_pod(review(body), context(not_covered="two are there"))
    assert "ReservedLabel" in codes(verdict)
    assert "two are there" in str(verdict)
