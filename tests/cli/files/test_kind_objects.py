"""Objects of governed kinds in `check`, `simulate` and `explain`: all shipped kinds, without any settings."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cli.__main__ import quotree
from tests.shared.kinds.objects import jobset, replicated, template

TREE: list[dict[str, Any]] = [
    {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "QuotaGroup",
        "metadata": {"name": "vision"},
        "spec": {"quotas": [{"flavor": "default", "min": {"cpu": "20"}, "max": {"cpu": "20"}}]},
    }
]


def held(name: str, **written: Any) -> dict[str, Any]:
    return {**written, "metadata": {"name": name, "namespace": "ns", "labels": {"quotree.dev/group": "vision"}}}


SETS = held("sets", **{key: value for key, value in jobset(
    replicated("driver", "1"), replicated("workers", "4", replicas=3), suspend=True
).items() if key != "metadata"})  # fmt: skip


def ray(**more: Any) -> dict[str, Any]:
    workers = [{"groupName": "w", "replicas": 2, "template": template("3")}]
    spec = {"suspend": True, "headGroupSpec": {"template": template("1")}, "workerGroupSpecs": workers}
    return held("ray", apiVersion="ray.io/v1", kind="RayCluster", spec=spec | more)


SERVED = held(
    "served",
    apiVersion="leaderworkerset.x-k8s.io/v1",
    kind="LeaderWorkerSet",
    spec={"replicas": 3, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template("2")}},
)


def run(tmp_path: Path, *arguments: str, objects: list[dict[str, Any]]) -> tuple[int, str, str]:
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all([*TREE, *objects]))
    options = ["--"] if arguments[0] == "check" else ["--capacity", "default:cpu=20", "-f"]
    done = CliRunner().invoke(quotree, [*arguments, *options, str(file)])
    return done.exit_code, done.stdout, done.stderr


def simulated(tmp_path: Path, *objects: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    code, printed, _ = run(tmp_path, "simulate", "-o", "json", objects=list(objects))
    return code, json.loads(printed)


def admitted(data: dict[str, Any]) -> list[dict[str, Any]]:
    (cycle,) = data["cycles"]
    found: list[dict[str, Any]] = cycle["admitted"]
    return found


def test_a_jobset_starts_with_flavors_for_each_pod_set(tmp_path: Path) -> None:
    code, data = simulated(tmp_path, SETS)
    (start,) = admitted(data)
    assert (code, start["workload"], start["tier"]) == (0, "ns/sets", "entitled")
    assert start["podSets"] == {"driver": {"cpu": "default"}, "workers": {"cpu": "default"}}
    assert data["groups"]["vision"]["default"]["cpu"]["used"] == 13_000


def test_objects_that_fit_only_alone_start_one_after_the_other(tmp_path: Path) -> None:
    _, data = simulated(tmp_path, SETS, ray(suspend=True), {**SETS, "metadata": SETS["metadata"] | {"name": "again"}})
    assert sorted(each["workload"] for each in admitted(data)) == ["ns/again", "ns/ray"]


def test_a_gated_kind_is_one_workload_for_each_of_its_groups(tmp_path: Path) -> None:
    _, data = simulated(tmp_path, SERVED)
    assert [each["workload"] for each in admitted(data)] == [f"ns/served-{number}" for number in range(3)]
    assert data["groups"]["vision"]["default"]["cpu"]["used"] == 18_000


@pytest.mark.parametrize("command", ["check", "simulate"])
@pytest.mark.parametrize(
    ("item", "rule", "words"),
    [
        (ray(enableInTreeAutoscaling=True), "KindRefused", "leave spec.enableInTreeAutoscaling out"),
        (ray(workerGroupSpecs=[{"groupName": "w", "replicas": -1, "template": template()}]), "KindUnreadable", "is -1"),
    ],
    ids=["refused", "unreadable"],
)
def test_object_that_cannot_be_governed_is_a_violation(
    tmp_path: Path, command: str, item: dict[str, Any], rule: str, words: str
) -> None:
    code, printed, _ = run(tmp_path, command, "-o", "json", objects=[item])
    (violation,) = json.loads(printed)["violations"]
    assert (code, violation["rule"], violation["object"]) == (1, rule, "RayCluster/ns/ray")
    assert words in violation["message"]
    assert [each for each in json.loads(printed)["warnings"] if each["rule"] == "UnreadableWorkload"] == []


def test_unmanaged_objects_break_no_rule(tmp_path: Path) -> None:
    item = ray(enableInTreeAutoscaling=True)
    del item["metadata"]["labels"]
    assert run(tmp_path, "check", objects=[item])[0] == 0


def test_trainjob_is_governed_through_its_jobset(tmp_path: Path) -> None:
    train = held("train", apiVersion="trainer.kubeflow.org/v1alpha1", kind="TrainJob", spec={})
    _, _, output = run(tmp_path, "check", objects=[train])
    assert "TrainJob/ns/train: the JobSet that its operator makes is governed in its place" in output


def test_explain_names_what_a_jobset_is_missing(tmp_path: Path) -> None:
    large = held("large", **{key: value for key, value in jobset(replicated("w", "9", replicas=3)).items()
                             if key != "metadata"})  # fmt: skip
    large["spec"]["suspend"] = True
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all([*TREE, large]))
    done = CliRunner().invoke(
        quotree, ["explain", "ns/large", "--capacity", "default:cpu=20", "-f", str(file), "-o", "json"]
    )
    answer = json.loads(done.stdout)
    assert (answer["workload"], answer["state"]) == ("ns/large", "Pending")
    assert answer["flavors"][0]["binding"]["missing"] == 7_000


def test_kinds_of_a_settings_file_are_used(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        "kinds:\n- {apiVersion: example.com/v1, kind: Crunch, resource: crunches, suspend: .spec.paused,\n"
        "   podSets: [{template: .spec.template}]}\n"
    )
    crunch = held("c", apiVersion="example.com/v1", kind="Crunch", spec={"paused": True, "template": template("2")})
    code, printed, _ = run(tmp_path, "simulate", "--settings", str(settings), "-o", "json", objects=[crunch, SETS])
    assert (code, sorted(each["workload"] for each in admitted(json.loads(printed)))) == (0, ["ns/c", "ns/sets"])
