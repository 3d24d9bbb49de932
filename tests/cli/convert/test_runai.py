"""Departments and projects of Run:ai's API become a legal tree, with node pools as flavors; what is lost is named."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from cli.commands.offline import convert
from tests.cli.convert.converting import Converted


def pool(name: str, **resources: Any) -> dict[str, Any]:
    return {"nodePool": {"id": "1", "name": name}, **resources}


def gpus(deserved: float | None, limit: float | None = -1, weight: float = 2) -> dict[str, Any]:
    return {"deserved": deserved, "limit": limit, "overQuotaWeight": weight}


MEMORY = {"deserved": 1024, "limit": None, "overQuotaWeight": 1, "units": "Mib"}
EXPORT = {
    "departments": [
        {
            "name": "research",
            "id": "10",
            "parentId": "cluster",
            "resources": [pool("default", gpu=gpus(6), memory=MEMORY)],
        }
    ],
    "projects": [
        {
            "name": "vision",
            "id": "11",
            "parentId": "10",
            "defaultNodePools": ["a100", "default"],
            "resources": [
                pool("default", gpu=gpus(2.5, 4), cpu=gpus(None, None), memory=MEMORY, priority="high"),
                pool("a100", gpu=gpus(0, -1, 0.5)),
            ],
            "schedulingRules": {"trainingJobTimeLimitSeconds": 3600, "trainingJobMaxIdleDurationSeconds": 60},
            "status": {"namespace": "runai-vision"},
        },
        {"name": "speech", "id": "12", "parentId": "10", "resources": [pool("default", gpu=gpus(1))]},
    ],
}


def test_departments_and_projects_become_groups(tmp_path: Path) -> None:
    made = Converted(tmp_path, json.dumps(EXPORT))
    assert {each.name: (each.parent, each.is_parent) for each in made.groups()} == {
        "research": ("root", True),
        "vision": ("research", False),
        "speech": ("research", False),
    }
    a100, default = made.spec("vision")["quotas"][0], made.spec("vision")["quotas"][1]
    assert (a100["flavor"], a100["weight"]) == ("a100", {"nvidia.com/gpu": "50"})
    assert a100["min"] == {"nvidia.com/gpu": "0", "memory": "0"}
    assert default["min"] == {"nvidia.com/gpu": "3", "memory": "1Gi"}
    assert default["max"] == {"nvidia.com/gpu": "4"}
    assert made.spec("vision")["maxRunTime"] == "3600s"
    (flavor,) = made.of_kind("ResourceFlavor")
    assert flavor["spec"] == {"nodeLabels": {"runai/node-pool": "a100"}}
    (namespace,) = made.of_kind("Namespace")
    assert namespace["metadata"] == {"name": "runai-vision", "labels": {"quotree.dev/group": "vision"}}
    assert [each.removeprefix("manifests.yaml:1: Project/vision ") for each in made.notes] == [
        ("resources: write the labels of the node pool a100 in place of runai/node-pool: this list does not have them"),
        "resources[default].gpu.deserved: 2.5 is a fraction, and becomes 3",
        "resources[default].priority: high has no counterpart and is left out",
        "schedulingRules.trainingJobMaxIdleDurationSeconds: 60 has no counterpart and is left out",
    ]
    assert made.check(tmp_path)[0] == 0


def test_quota_without_bound_promises_nothing(tmp_path: Path) -> None:
    export = {"projects": [{"name": "a", "id": 1, "resources": [pool("default", gpu=gpus(-1, -1))]}]}
    made = Converted(tmp_path, json.dumps(export))
    assert made.spec("a")["quotas"][0]["min"] == {"nvidia.com/gpu": "0"}
    text = "is unlimited: a group promises nothing without a number"
    assert made.notes == [f"manifests.yaml:1: Project/a resources[default].gpu.deserved: {text}"]


def test_two_lists_are_read_together(tmp_path: Path) -> None:
    files = []
    for plural, units in EXPORT.items():
        file = tmp_path / f"{plural}.json"
        file.write_text(json.dumps({plural: units, "next": 2}))
        files.append(str(file))
    answer = CliRunner().invoke(convert.command, files)
    assert answer.exit_code == 0
    assert "parent: research" in answer.stdout
