"""KAI's Queues, and YuniKorn's ConfigMap and its file, become legal trees with the same numbers."""

import json
import textwrap
from pathlib import Path

import pytest

from tests.cli.convert.converting import Converted

KAI = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: division}
spec: {resources: {gpu: {quota: -1, limit: -1, overQuotaWeight: 1}}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team}
spec:
  parentQueue: division
  priority: 200
  reclaimMinRuntime: 10m
  resources:
    cpu: {quota: 4000, limit: -1, overQuotaWeight: 0.5}
    memory: {quota: 2000, limit: 1000, overQuotaWeight: 1}
    gpu: {quota: 1.5, limit: 4, overQuotaWeight: 2}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: one, labels: {%s}}
spec: {schedulerName: %s, containers: [{name: main, image: none}]}
---
"""
YUNIKORN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: yunikorn-configs, namespace: yunikorn}
data:
  queues.yaml: |
    partitions:
      - name: default
        placementrules: [{name: tag}]
        queues:
          - name: root
            queues:
              - name: eng
                resources: {guaranteed: {vcore: 8, memory: 16Gi}, max: {vcore: 16}}
                queues:
                  - name: batch
                    resources: {guaranteed: {vcore: 500m}}
                    maxapplications: 5
                    limits: [{users: ["*"], maxapplications: 1}]
              - name: sci
                queues: [{name: batch}]
      - name: gpu
        queues: []
---
"""


IN_TURNS = (
    "let the users take turns in its leaves (queueing.order: User), so that none keeps others out; amounts for one "
    "user or group are left out: who needs one needs a leaf of its own"
)
OWN = 'limits: [{users: ["*"], maxapplications: 1}]'


def test_queues_of_kai_keep_quota_limit_and_weight(tmp_path: Path) -> None:
    made = Converted(tmp_path, KAI + POD % ("kai.scheduler/queue: team", "kai-scheduler"))
    assert made.spec("team") == {
        "parent": "division",
        "quotas": [
            {
                "min": {"cpu": "4", "memory": "2G", "nvidia.com/gpu": "2"},
                "max": {"memory": "2G", "nvidia.com/gpu": "4"},
                "weight": {"cpu": "1", "memory": "2", "nvidia.com/gpu": "4"},
            }
        ],
        "reclaim": {"exemptAfterStart": "10m"},
    }
    assert [each.partition("Queue/")[2] for each in made.notes] == [
        (
            "division spec.resources.gpu.quota: is unlimited: a parent promises what its children have, "
            "and a leaf nothing without a number"
        ),
        "team spec.resources.gpu.quota: 1.5 is a fraction of a device, and becomes 2",
        "team spec.priority: has no counterpart and is left out",
    ]
    assert made.of_kind("Pod")[0]["metadata"]["labels"] == {"quotree.dev/group": "team"}
    assert (made.check(tmp_path)[0], made.judged[-1].split("; ")[1][:6]) == (0, "1 of 1")


def test_queues_of_yunikorn_keep_their_paths_apart(tmp_path: Path) -> None:
    made = Converted(tmp_path, YUNIKORN + POD % ("queue: root.sci.batch", "yunikorn"))
    assert {each.name: each.parent for each in made.groups()} == {
        "eng": "root",
        "sci": "root",
        "eng-batch": "eng",
        "sci-batch": "sci",
    }
    assert made.spec("eng")["quotas"] == [{"min": {"cpu": "8", "memory": "16Gi"}, "max": {"cpu": "16"}}]
    assert made.spec("eng-batch")["quotas"] == [{"min": {"cpu": "500m", "memory": "0"}, "max": {"workloads": "5"}}]
    assert [each.partition("queues.yaml]: ")[2] for each in made.notes] == [
        "partition gpu is left out: give its nodes a flavor",
        "placementrules has no counterpart and is left out",
        f"limits of root.eng.batch {IN_TURNS}",
    ]
    assert made.spec("eng-batch")["queueing"] == {"order": "User"}
    assert "queueing" not in made.spec("sci-batch")
    assert made.of_kind("Pod")[0]["metadata"]["labels"] == {"quotree.dev/group": "sci-batch"}
    assert made.check(tmp_path)[0] == 0


def test_users_take_turns_in_every_leaf_below_a_limit(tmp_path: Path) -> None:
    above = YUNIKORN.replace(OWN, "").replace("name: eng\n", f"name: eng\n                {OWN}\n")
    made = Converted(tmp_path, above)
    assert [made.spec(name).get("queueing") for name in ("eng", "eng-batch", "sci-batch")] == [
        None,
        {"order": "User"},
        None,
    ]
    assert f"limits of root.eng {IN_TURNS}" in made.notes[-1]


def test_limit_of_groups_of_users_is_named_as_lost(tmp_path: Path) -> None:
    made = Converted(tmp_path, YUNIKORN.replace('users: ["*"]', "groups: [dev]"))
    assert "queueing" not in made.spec("eng-batch")
    assert "limits of root.eng.batch are left out: limits of groups of users have no counterpart" in made.notes[-1]


def test_config_that_is_no_list_of_partitions_is_an_error(tmp_path: Path) -> None:
    problem = str(Converted(tmp_path, YUNIKORN.replace("partitions:", "parts:")).problem)
    assert "ConfigMap/yunikorn/yunikorn-configs data[queues.yaml]: is no list of partitions with queues" in problem


@pytest.mark.parametrize(
    "queues",
    ["&q\n    - name: root\n      queues: *q", f"[{'[' * 300}{']' * 300}]", f"{'9' * 5000}"],
    ids=["endless", "deep", "a number of 5,000 digits"],
)
def test_config_that_is_not_what_it_looks_like_is_an_error(tmp_path: Path, queues: str) -> None:
    text = f"partitions:\n  - name: default\n    queues: {queues}\n"
    data = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs"},
        "data": {"queues.yaml": text},
    }
    problem = str(Converted(tmp_path, json.dumps(data)).problem)
    assert "data[queues.yaml]: is no list of partitions with queues" in problem


@pytest.mark.parametrize("head", ["", "queues.yaml: |\n"])
def test_queues_yaml_is_read_by_itself(tmp_path: Path, head: str) -> None:
    in_map = Converted(tmp_path, YUNIKORN)
    lines = YUNIKORN.partition("queues.yaml: |\n")[2].removesuffix("---\n")
    alone = Converted(tmp_path, head + (lines if head else textwrap.dedent(lines)))
    assert alone.documents == in_map.documents
    texts = [[each.partition("queues.yaml]: ")[2] for each in made.notes] for made in (alone, in_map)]
    assert texts[0] == texts[1]


def test_a_queue_gets_a_name_that_an_object_may_have(tmp_path: Path) -> None:
    made = Converted(
        tmp_path,
        YUNIKORN.replace("name: sci", "name: Last_Resort") + POD % ("queue: root.Last_Resort.batch", "yunikorn"),
    )
    assert {each.name for each in made.groups()} == {"eng", "eng-batch", "last-resort", "last-resort-batch"}
    assert made.of_kind("Pod")[0]["metadata"]["labels"] == {"quotree.dev/group": "last-resort-batch"}
    assert made.check(tmp_path)[0] == 0
